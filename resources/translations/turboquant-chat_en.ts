<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="en_US">
<context>
    <name>Chip</name>
    <message numerus="yes">
        <source>{0} tokens</source>
        <translation>
            <numerusform>{0} token</numerusform>
            <numerusform>{0} tokens</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>Composer</name>
    <message numerus="yes">
        <source>{0} tokens</source>
        <translation>
            <numerusform>{0} token</numerusform>
            <numerusform>{0} tokens</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>ConversationModel</name>
    <message numerus="yes">
        <source>{0} · {1} tokens · {2} cached</source>
        <translation>
            <numerusform>{0} · {1} token · {2} cached</numerusform>
            <numerusform>{0} · {1} tokens · {2} cached</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>{0} · {1} tokens · {2}</source>
        <translation>
            <numerusform>{0} · {1} token · {2}</numerusform>
            <numerusform>{0} · {1} tokens · {2}</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>Discarding</name>
    <message numerus="yes">
        <source>%n cache(s) were discarded. The text is kept.</source>
        <translation>
            <numerusform>%n cache was discarded. The text is kept.</numerusform>
            <numerusform>%n caches were discarded. The text is kept.</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>DownloadNews</name>
    <message numerus="yes">
        <source>{0} and {1} more are downloaded and verified.</source>
        <translation>
            <numerusform>{0} and {1} more are downloaded and verified.</numerusform>
            <numerusform>{0} and {1} more are downloaded and verified.</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>{0} and {1} more downloads failed</source>
        <translation>
            <numerusform>{0} and {1} more download failed</numerusform>
            <numerusform>{0} and {1} more downloads failed</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>HubDetail</name>
    <message numerus="yes">
        <source>{0} in {1} files</source>
        <translation>
            <numerusform>{0} in {1} file</numerusform>
            <numerusform>{0} in {1} files</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>InstalledPage</name>
    <message numerus="yes">
        <source>{0} models, {1} on disk</source>
        <translation>
            <numerusform>{0} model, {1} on disk</numerusform>
            <numerusform>{0} models, {1} on disk</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>MemoryChart</name>
    <message numerus="yes">
        <source>{0} tokens</source>
        <translation>
            <numerusform>{0} token</numerusform>
            <numerusform>{0} tokens</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>ModelsPage</name>
    <message numerus="yes">
        <source>After %n minutes</source>
        <translation>
            <numerusform>After %n minute</numerusform>
            <numerusform>After %n minutes</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>ReplyView</name>
    <message numerus="yes">
        <source>{0} tokens</source>
        <translation>
            <numerusform>{0} token</numerusform>
            <numerusform>{0} tokens</numerusform>
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
    <message numerus="yes">
        <source>%n cache(s), {0}</source>
        <translation>
            <numerusform>%n cache, {0}</numerusform>
            <numerusform>%n caches, {0}</numerusform>
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
