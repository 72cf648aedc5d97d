<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en_US">
<context>
    <name>ConversationModel</name>
    <message numerus="yes">
        <source>{0} · {1} tokens · {2} cached</source>
        <translation>
            <numerusform>{0} · {1} token · {2} cached</numerusform>
            <numerusform>{0} · {1} tokens · {2} cached</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>ModelsPage</name>
    <message numerus="yes">
        <source>after %n minutes</source>
        <translation>
            <numerusform>after %n minute</numerusform>
            <numerusform>after %n minutes</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>StoragePage</name>
    <message numerus="yes">
        <source>%n saved cache(s), {0} of {1}</source>
        <translation>
            <numerusform>%n saved cache, {0} of {1}</numerusform>
            <numerusform>%n saved caches, {0} of {1}</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>ThinkingSection</name>
    <message numerus="yes">
        <source>%Ln word(s)</source>
        <translation>
            <numerusform>%Ln word</numerusform>
            <numerusform>%Ln words</numerusform>
        </translation>
    </message>
</context>
</TS>
