<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de_DE">
<context>
    <name>About</name>
    <message>
        <source>About TurboQuant Chat</source>
        <translation>Über TurboQuant Chat</translation>
    </message>
    <message>
        <source>TurboQuant Chat</source>
        <translation>TurboQuant Chat</translation>
    </message>
    <message>
        <source>Version {0}</source>
        <translation>Version {0}</translation>
    </message>
    <message>
        <source>Chat with local MLX models, and watch a TurboQuant-compressed key/value cache stay small.</source>
        <translation>Mit MLX-Modellen auf diesem Rechner chatten und zusehen, wie ein mit TurboQuant komprimierter Key-Value-Cache klein bleibt.</translation>
    </message>
    <message>
        <source>Licences…</source>
        <translation>Lizenzen …</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>no model is loaded</source>
        <translation>kein Modell ist geladen</translation>
    </message>
    <message>
        <source>Computes with: {0}</source>
        <translation>Rechnet mit: {0}</translation>
    </message>
    <message>
        <source>Licence: Apache-2.0, a copy of which comes with the program</source>
        <translation>Lizenz: Apache-2.0, ihr Text liegt dem Programm bei</translation>
    </message>
    <message>
        <source>Its source: the Python files of app and turboquant in the program&apos;s folder</source>
        <translation>Sein Quelltext: die Python-Dateien von app und turboquant im Ordner des Programms</translation>
    </message>
</context>
<context>
    <name>AccountBox</name>
    <message>
        <source>Hugging Face account</source>
        <translation>Hugging-Face-Konto</translation>
    </message>
    <message>
        <source>Most models need none. Gated ones are given to accounts that accepted their terms.</source>
        <translation>Die meisten Modelle brauchen keines. Zugangsbeschränkte erhält ein Konto, das ihren Bedingungen zugestimmt hat.</translation>
    </message>
    <message>
        <source>Access token</source>
        <translation>Zugangstoken</translation>
    </message>
    <message>
        <source>Store and test</source>
        <translation>Speichern und prüfen</translation>
    </message>
    <message>
        <source>Test</source>
        <translation>Prüfen</translation>
    </message>
    <message>
        <source>Remove the token</source>
        <translation>Token entfernen</translation>
    </message>
    <message>
        <source>Make a token on the web</source>
        <translation>Token im Web anlegen</translation>
    </message>
    <message>
        <source>Looking for a token…</source>
        <translation>Suche nach einem Token …</translation>
    </message>
    <message>
        <source>No token: downloads are anonymous</source>
        <translation>Kein Token: Downloads sind anonym</translation>
    </message>
    <message>
        <source>The hub takes the token: you are {0}</source>
        <translation>Der Hub nimmt das Token an: angemeldet als {0}</translation>
    </message>
    <message>
        <source>The hub doesn&apos;t take this token: make a new one</source>
        <translation>Der Hub nimmt dieses Token nicht an: ein neues anlegen</translation>
    </message>
    <message>
        <source>There is a token; it hasn&apos;t been tested since the start</source>
        <translation>Ein Token ist da; seit dem Start wurde es nicht geprüft</translation>
    </message>
    <message>
        <source>It is kept in {0}.</source>
        <translation>Aufbewahrt in: {0}.</translation>
    </message>
    <message>
        <source>Hub: {0}</source>
        <translation>Hub: {0}</translation>
    </message>
    <message>
        <source>offline mode: HF_HUB_OFFLINE is set, so nothing is asked of it</source>
        <translation>offline: HF_HUB_OFFLINE ist gesetzt, er wird nichts gefragt</translation>
    </message>
    <message>
        <source>Testing the token…</source>
        <translation>Token wird geprüft …</translation>
    </message>
</context>
<context>
    <name>Actions</name>
    <message>
        <source>New conversation</source>
        <translation>Neue Unterhaltung</translation>
    </message>
    <message>
        <source>Rename…</source>
        <translation>Umbenennen …</translation>
    </message>
    <message>
        <source>Pin to the top</source>
        <translation>Oben anheften</translation>
    </message>
    <message>
        <source>Delete conversation</source>
        <translation>Unterhaltung löschen</translation>
    </message>
    <message>
        <source>Find and manage models…</source>
        <translation>Modelle finden und verwalten …</translation>
    </message>
    <message>
        <source>Downloads</source>
        <translation>Downloads</translation>
    </message>
    <message>
        <source>Open a model folder…</source>
        <translation>Modellordner öffnen …</translation>
    </message>
    <message>
        <source>Unload the model</source>
        <translation>Modell entladen</translation>
    </message>
    <message>
        <source>Preferences…</source>
        <translation>Einstellungen …</translation>
    </message>
    <message>
        <source>Close window</source>
        <translation>Fenster schließen</translation>
    </message>
    <message>
        <source>Quit</source>
        <translation>Beenden</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
    <message>
        <source>Cut</source>
        <translation>Ausschneiden</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Paste</source>
        <translation>Einfügen</translation>
    </message>
    <message>
        <source>Select all</source>
        <translation>Alles auswählen</translation>
    </message>
    <message>
        <source>Find in this conversation</source>
        <translation>In dieser Unterhaltung suchen</translation>
    </message>
    <message>
        <source>Search all conversations</source>
        <translation>Alle Unterhaltungen durchsuchen</translation>
    </message>
    <message>
        <source>Conversations</source>
        <translation>Unterhaltungen</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>Speicher</translation>
    </message>
    <message>
        <source>Next conversation</source>
        <translation>Nächste Unterhaltung</translation>
    </message>
    <message>
        <source>Previous conversation</source>
        <translation>Vorige Unterhaltung</translation>
    </message>
    <message>
        <source>Larger text</source>
        <translation>Größere Schrift</translation>
    </message>
    <message>
        <source>Smaller text</source>
        <translation>Kleinere Schrift</translation>
    </message>
    <message>
        <source>Usual text size</source>
        <translation>Übliche Schriftgröße</translation>
    </message>
    <message>
        <source>Minimise</source>
        <translation>Minimieren</translation>
    </message>
    <message>
        <source>Change the scheme…</source>
        <translation>Schema wechseln …</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>Senden</translation>
    </message>
    <message>
        <source>Attach text files…</source>
        <translation>Textdateien anhängen …</translation>
    </message>
    <message>
        <source>Reply settings…</source>
        <translation>Einstellungen der Antworten …</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Stopp</translation>
    </message>
    <message>
        <source>Keyboard shortcuts</source>
        <translation>Tastenkürzel</translation>
    </message>
    <message>
        <source>Show the log folder</source>
        <translation>Ordner der Protokolle zeigen</translation>
    </message>
    <message>
        <source>Last crash report…</source>
        <translation>Letzter Absturzbericht …</translation>
    </message>
    <message>
        <source>About TurboQuant Chat</source>
        <translation>Über TurboQuant Chat</translation>
    </message>
    <message>
        <source>File</source>
        <translation>Datei</translation>
    </message>
    <message>
        <source>Edit</source>
        <translation>Bearbeiten</translation>
    </message>
    <message>
        <source>View</source>
        <translation>Ansicht</translation>
    </message>
    <message>
        <source>Chat</source>
        <translation>Chat</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>Help</source>
        <translation>Hilfe</translation>
    </message>
    <message>
        <source>Next hit</source>
        <translation>Nächster Treffer</translation>
    </message>
    <message>
        <source>Previous hit</source>
        <translation>Voriger Treffer</translation>
    </message>
    <message>
        <source>Edit the last message</source>
        <translation>Letzte Nachricht bearbeiten</translation>
    </message>
    <message>
        <source>Answer again</source>
        <translation>Noch einmal antworten</translation>
    </message>
    <message>
        <source>Import…</source>
        <translation>Importieren …</translation>
    </message>
    <message>
        <source>Export as Markdown…</source>
        <translation>Als Markdown exportieren …</translation>
    </message>
    <message>
        <source>Export as JSON…</source>
        <translation>Als JSON exportieren …</translation>
    </message>
    <message>
        <source>Export with its cache…</source>
        <translation>Mit ihrem Cache exportieren …</translation>
    </message>
    <message>
        <source>Redo</source>
        <translation>Wiederholen</translation>
    </message>
    <message>
        <source>Continue the reply</source>
        <translation>Antwort fortsetzen</translation>
    </message>
</context>
<context>
    <name>Answering</name>
    <message>
        <source>Rebuilding the cache: {0} of {1} tokens</source>
        <translation>Der Cache wird neu aufgebaut: {0} von {1} Token</translation>
    </message>
    <message>
        <source>Preparing the first token…</source>
        <translation>Das erste Token wird vorbereitet …</translation>
    </message>
    <message>
        <source>Reading the prompt: {0} of {1} tokens</source>
        <translation>Der Prompt wird gelesen: {0} von {1} Token</translation>
    </message>
</context>
<context>
    <name>AttachedFiles</name>
    <message>
        <source>Show or hide {0}</source>
        <translation>{0} zeigen oder verbergen</translation>
    </message>
</context>
<context>
    <name>AttachmentRow</name>
    <message>
        <source>Attached files</source>
        <translation>Angehängte Dateien</translation>
    </message>
</context>
<context>
    <name>Browsing</name>
    <message>
        <source>Pin to the top</source>
        <translation>Oben anheften</translation>
    </message>
    <message>
        <source>Undo deleting “{0}”</source>
        <translation>Löschen von „{0}“ rückgängig machen</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
    <message>
        <source>Unpin</source>
        <translation>Nicht mehr anheften</translation>
    </message>
</context>
<context>
    <name>CacheView</name>
    <message>
        <source>The cache of a conversation can&apos;t be saved: {0}. The text is whole; it is tried again after the next reply and when the program ends.</source>
        <translation>Der Cache einer Unterhaltung kann nicht gespeichert werden: {0}. Der Text ist vollständig; nach der nächsten Antwort und beim Beenden wird es wieder versucht.</translation>
    </message>
    <message>
        <source>The saved cache of this conversation was damaged and is removed. The text is complete; the next reply reads it again.</source>
        <translation>Der gespeicherte Cache dieser Unterhaltung war beschädigt und ist entfernt. Der Text ist vollständig; die nächste Antwort liest ihn neu.</translation>
    </message>
    <message>
        <source>The saved cache of this conversation wasn&apos;t loaded: {0}</source>
        <translation>Der gespeicherte Cache dieser Unterhaltung wurde nicht geladen: {0}</translation>
    </message>
</context>
<context>
    <name>Chat</name>
    <message>
        <source>Reading the prompt</source>
        <translation>Der Prompt wird gelesen</translation>
    </message>
    <message>
        <source>Waiting until the cache of “{0}” is changed</source>
        <translation>Wartet, bis der Cache von „{0}“ umgestellt ist</translation>
    </message>
    <message>
        <source>The context is full: choose above how to go on</source>
        <translation>Der Kontext ist voll: oben wählen, wie es weitergeht</translation>
    </message>
    <message>
        <source>Loading {0}…</source>
        <translation>{0} wird geladen …</translation>
    </message>
    <message>
        <source>No model is loaded</source>
        <translation>Kein Modell ist geladen</translation>
    </message>
    <message>
        <source>A reply is being written in “{0}”</source>
        <translation>In „{0}“ wird eine Antwort geschrieben</translation>
    </message>
</context>
<context>
    <name>ChatItems</name>
    <message>
        <source>This reply failed.</source>
        <translation>Diese Antwort ist gescheitert.</translation>
    </message>
    <message>
        <source>This message has no reply yet.</source>
        <translation>Diese Nachricht hat noch keine Antwort.</translation>
    </message>
    <message>
        <source>in {0}</source>
        <translation>in {0}</translation>
    </message>
    <message>
        <source>Made from data that was compressed before: a little less exact than a rebuild.</source>
        <translation>Aus schon komprimierten Daten: etwas ungenauer als neu aufgebaut.</translation>
    </message>
    <message>
        <source>rebuilt in {0}</source>
        <translation>neu aufgebaut in {0}</translation>
    </message>
    <message>
        <source>The model has read the transcript again.</source>
        <translation>Das Modell hat den Verlauf noch einmal gelesen.</translation>
    </message>
    <message>
        <source>The model reads from here on</source>
        <translation>Das Modell liest ab hier</translation>
    </message>
    <message>
        <source>Older turns were left out to make room; they stay here.</source>
        <translation>Ältere Runden wurden ausgelassen, um Platz zu schaffen; hier bleiben sie stehen.</translation>
    </message>
    <message>
        <source>Compressed from what the cache still held uncompressed.</source>
        <translation>Komprimiert aus dem, was der Cache noch unkomprimiert enthielt.</translation>
    </message>
    <message>
        <source>compressed further in {0}</source>
        <translation>weiter komprimiert in {0}</translation>
    </message>
</context>
<context>
    <name>Chip</name>
    <message numerus="yes">
        <source>{0} tokens</source>
        <translation>
            <numerusform>{0} Token</numerusform>
            <numerusform>{0} Token</numerusform>
        </translation>
    </message>
    <message>
        <source>Put it into the text</source>
        <translation>In den Text setzen</translation>
    </message>
    <message>
        <source>Remove {0}</source>
        <translation>{0} entfernen</translation>
    </message>
    <message>
        <source>Remove</source>
        <translation>Entfernen</translation>
    </message>
</context>
<context>
    <name>Choices</name>
    <message>
        <source>This reply fills the model&apos;s context, so it can&apos;t go on. Nothing was cut.</source>
        <translation>Diese Antwort füllt den Kontext des Modells, sie kann nicht weitergehen. Nichts wurde gekürzt.</translation>
    </message>
</context>
<context>
    <name>Columns</name>
    <message>
        <source>Width of the column</source>
        <translation>Breite der Spalte</translation>
    </message>
</context>
<context>
    <name>Composer</name>
    <message>
        <source>Message</source>
        <translation>Nachricht</translation>
    </message>
    <message>
        <source>Attach text files</source>
        <translation>Textdateien anhängen</translation>
    </message>
    <message>
        <source>Reply settings</source>
        <translation>Einstellungen der Antworten</translation>
    </message>
    <message>
        <source>Reading files…</source>
        <translation>Dateien werden gelesen …</translation>
    </message>
    <message>
        <source>Context {0} of {1}</source>
        <translation>Kontext {0} von {1}</translation>
    </message>
    <message numerus="yes">
        <source>{0} tokens</source>
        <translation>
            <numerusform>{0} Token</numerusform>
            <numerusform>{0} Token</numerusform>
        </translation>
    </message>
    <message>
        <source>{0} · {1} more than the context has room for</source>
        <translation>{0} · {1} mehr, als in den Kontext passen</translation>
    </message>
    <message>
        <source>{0} · only {1} left for the reply</source>
        <translation>{0} · nur {1} bleiben für die Antwort</translation>
    </message>
    <message>
        <source>{0} · {1} left</source>
        <translation>{0} · {1} frei</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>Stopp</translation>
    </message>
    <message>
        <source>Stop (Esc)</source>
        <translation>Stopp (Esc)</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>Senden</translation>
    </message>
    <message>
        <source>Send (Enter)</source>
        <translation>Senden (Eingabe)</translation>
    </message>
    <message>
        <source>Pasted text</source>
        <translation>Eingefügter Text</translation>
    </message>
    <message>
        <source>{0} isn&apos;t attached: a message takes {1} files and {2} at most.</source>
        <translation>{0} wird nicht angehängt: Eine Nachricht nimmt höchstens {1} Dateien und {2} auf.</translation>
    </message>
    <message>
        <source>{0} of {1}</source>
        <translation>{0} von {1}</translation>
    </message>
    <message>
        <source>{0} too many</source>
        <translation>{0} zu viel</translation>
    </message>
    <message>
        <source>{0} left</source>
        <translation>noch {0}</translation>
    </message>
</context>
<context>
    <name>Configuring</name>
    <message>
        <source>Storage</source>
        <translation>Speicherplatz</translation>
    </message>
</context>
<context>
    <name>ContextFullCard</name>
    <message>
        <source>This conversation no longer fits the model&apos;s context.</source>
        <translation>Diese Unterhaltung passt nicht mehr in den Kontext des Modells.</translation>
    </message>
    <message>
        <source>The prompt takes {0} of {1} tokens. Nothing was generated and nothing was cut.</source>
        <translation>Der Prompt braucht {0} von {1} Token. Nichts wurde erzeugt und nichts gekürzt.</translation>
    </message>
    <message>
        <source>Leave out the oldest turn</source>
        <translation>Die älteste Runde auslassen</translation>
    </message>
    <message>
        <source>Leave out the oldest {0} turns</source>
        <translation>Die ältesten {0} Runden auslassen</translation>
    </message>
    <message>
        <source>They stay in the transcript; the model no longer reads them.</source>
        <translation>Im Verlauf bleiben sie stehen; das Modell liest sie nicht mehr.</translation>
    </message>
    <message>
        <source>New conversation</source>
        <translation>Neue Unterhaltung</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
</context>
<context>
    <name>ConversationDelegate</name>
    <message>
        <source>Name of the conversation</source>
        <translation>Name der Unterhaltung</translation>
    </message>
</context>
<context>
    <name>ConversationList</name>
    <message>
        <source>Conversations</source>
        <translation>Unterhaltungen</translation>
    </message>
</context>
<context>
    <name>ConversationModel</name>
    <message>
        <source>Pinned</source>
        <translation>Angeheftet</translation>
    </message>
    <message>
        <source>Today</source>
        <translation>Heute</translation>
    </message>
    <message>
        <source>Yesterday</source>
        <translation>Gestern</translation>
    </message>
    <message>
        <source>Last 7 days</source>
        <translation>Letzte 7 Tage</translation>
    </message>
    <message>
        <source>Last 30 days</source>
        <translation>Letzte 30 Tage</translation>
    </message>
    <message>
        <source>New conversation</source>
        <translation>Neue Unterhaltung</translation>
    </message>
    <message>
        <source>pinned</source>
        <translation>angeheftet</translation>
    </message>
    <message numerus="yes">
        <source>{0} · {1} tokens · {2} cached</source>
        <translation>
            <numerusform>{0} · {1} Token · {2} im Cache</numerusform>
            <numerusform>{0} · {1} Token · {2} im Cache</numerusform>
        </translation>
    </message>
    <message>
        <source>uncompressed</source>
        <translation>unkomprimiert</translation>
    </message>
    <message numerus="yes">
        <source>{0} · {1} tokens · {2}</source>
        <translation>
            <numerusform>{0} · {1} Token · {2}</numerusform>
            <numerusform>{0} · {1} Token · {2}</numerusform>
        </translation>
    </message>
    <message>
        <source>A reply is being written</source>
        <translation>Eine Antwort wird geschrieben</translation>
    </message>
</context>
<context>
    <name>CopyButton</name>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Copied</source>
        <translation>Kopiert</translation>
    </message>
</context>
<context>
    <name>CrashNotice</name>
    <message>
        <source>The program ended unexpectedly.</source>
        <translation>Das Programm endete unerwartet.</translation>
    </message>
    <message>
        <source>Show report</source>
        <translation>Bericht zeigen</translation>
    </message>
    <message>
        <source>Open log folder</source>
        <translation>Ordner der Protokolle öffnen</translation>
    </message>
    <message>
        <source>Your conversations are kept. A report holds the last lines of the program&apos;s log, and where the code was if that is known; nothing that you or a model wrote. It stays on this computer: nothing was sent.</source>
        <translation>Die Unterhaltungen sind erhalten. Ein Bericht enthält die letzten Zeilen des Protokolls und, wo sie bekannt ist, die Stelle im Code; nichts von dem, was geschrieben wurde. Er bleibt auf diesem Rechner: nichts wurde gesendet.</translation>
    </message>
</context>
<context>
    <name>Deleting</name>
    <message>
        <source>“{0}” was deleted.</source>
        <translation>„{0}“ wurde gelöscht.</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
</context>
<context>
    <name>DetailPane</name>
    <message>
        <source>About the model</source>
        <translation>Über das Modell</translation>
    </message>
</context>
<context>
    <name>Discarding</name>
    <message>
        <source>The cache of “{0}” was discarded. Its text is kept.</source>
        <translation>Der Cache von „{0}“ wurde verworfen. Der Text ist erhalten.</translation>
    </message>
    <message numerus="yes">
        <source>%n cache(s) were discarded. The text is kept.</source>
        <translation>
            <numerusform>%n Cache wurde verworfen. Der Text ist erhalten.</numerusform>
            <numerusform>%n Caches wurden verworfen. Der Text ist erhalten.</numerusform>
        </translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
</context>
<context>
    <name>DownloadNews</name>
    <message>
        <source>Load</source>
        <translation>Laden</translation>
    </message>
    <message numerus="yes">
        <source>{0} and {1} more are downloaded and verified.</source>
        <translation>
            <numerusform>{0} und {1} weiteres sind geladen und geprüft.</numerusform>
            <numerusform>{0} und {1} weitere sind geladen und geprüft.</numerusform>
        </translation>
    </message>
    <message>
        <source>{0} is downloaded and verified.</source>
        <translation>{0} ist geladen und geprüft.</translation>
    </message>
    <message numerus="yes">
        <source>{0} and {1} more downloads failed</source>
        <translation>
            <numerusform>{0} und {1} weiterer Download sind gescheitert</numerusform>
            <numerusform>{0} und {1} weitere Downloads sind gescheitert</numerusform>
        </translation>
    </message>
    <message>
        <source>{0}: {1}</source>
        <translation>{0}: {1}</translation>
    </message>
    <message>
        <source>It failed.</source>
        <translation>Gescheitert.</translation>
    </message>
</context>
<context>
    <name>DownloadPlace</name>
    <message>
        <source>Download</source>
        <translation>Herunterladen</translation>
    </message>
</context>
<context>
    <name>DownloadRow</name>
    <message>
        <source>Load</source>
        <translation>Laden</translation>
    </message>
    <message>
        <source>Resume</source>
        <translation>Fortsetzen</translation>
    </message>
    <message>
        <source>Pause</source>
        <translation>Anhalten</translation>
    </message>
    <message>
        <source>Cancel and delete what was fetched</source>
        <translation>Abbrechen und löschen, was schon da ist</translation>
    </message>
    <message>
        <source>Open the page</source>
        <translation>Seite öffnen</translation>
    </message>
    <message>
        <source>Account…</source>
        <translation>Konto …</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Noch einmal versuchen</translation>
    </message>
    <message>
        <source>Download of {0}: {1}</source>
        <translation>Download von {0}: {1}</translation>
    </message>
    <message>
        <source>{0} of {1} files</source>
        <translation>{0} von {1} Dateien</translation>
    </message>
    <message>
        <source>and {0} more</source>
        <translation>und {0} weitere</translation>
    </message>
    <message>
        <source>It failed.</source>
        <translation>Gescheitert.</translation>
    </message>
    <message>
        <source>{0} · complete and verified</source>
        <translation>{0} · vollständig und geprüft</translation>
    </message>
    <message>
        <source>Waiting for its turn</source>
        <translation>Wartet, bis es an der Reihe ist</translation>
    </message>
    <message>
        <source>Paused</source>
        <translation>Angehalten</translation>
    </message>
    <message>
        <source>Checking what was fetched</source>
        <translation>Was geladen wurde, wird geprüft</translation>
    </message>
    <message>
        <source>Asking the hub what there is</source>
        <translation>Der Hub wird gefragt, was es gibt</translation>
    </message>
    <message>
        <source>nothing is coming in</source>
        <translation>nichts kommt an</translation>
    </message>
    <message>
        <source>{0} left</source>
        <translation>noch {0}</translation>
    </message>
    <message>
        <source>{0} of {1}</source>
        <translation>{0} von {1}</translation>
    </message>
    <message>
        <source>Remove from list</source>
        <translation>Von der Liste nehmen</translation>
    </message>
</context>
<context>
    <name>DownloadsButton</name>
    <message>
        <source>{0} downloads under way</source>
        <translation>{0} Downloads laufen</translation>
    </message>
    <message>
        <source>Downloading {0}</source>
        <translation>{0} wird heruntergeladen</translation>
    </message>
    <message>
        <source>A download failed</source>
        <translation>Ein Download ist gescheitert</translation>
    </message>
    <message>
        <source>A download is paused</source>
        <translation>Ein Download ist angehalten</translation>
    </message>
    <message>
        <source>Downloads are complete</source>
        <translation>Downloads sind fertig</translation>
    </message>
</context>
<context>
    <name>DownloadsCard</name>
    <message>
        <source>Downloads</source>
        <translation>Downloads</translation>
    </message>
    <message>
        <source>Clear finished</source>
        <translation>Fertige entfernen</translation>
    </message>
</context>
<context>
    <name>DropTarget</name>
    <message>
        <source>Drop it to add the model</source>
        <translation>Loslassen fügt das Modell hinzu</translation>
    </message>
    <message>
        <source>Drop it to attach it</source>
        <translation>Loslassen hängt sie an</translation>
    </message>
    <message>
        <source>Drop it to import the conversation</source>
        <translation>Loslassen importiert die Unterhaltung</translation>
    </message>
</context>
<context>
    <name>EmptyState</name>
    <message>
        <source>What would you like to talk about?</source>
        <translation>Worum soll es gehen?</translation>
    </message>
    <message>
        <source>The cache of this conversation stays uncompressed.</source>
        <translation>Der Cache dieser Unterhaltung bleibt unkomprimiert.</translation>
    </message>
    <message>
        <source>The cache of this conversation will be compressed with {0}.</source>
        <translation>Der Cache dieser Unterhaltung wird mit {0} komprimiert.</translation>
    </message>
</context>
<context>
    <name>Engagement</name>
    <message>
        <source>Nothing is compressed yet</source>
        <translation>Noch ist nichts komprimiert</translation>
    </message>
    <message>
        <source>Layers are compressed at a reply&apos;s first token.</source>
        <translation>Schichten werden mit dem ersten Token einer Antwort komprimiert.</translation>
    </message>
    <message>
        <source>{0}: nothing to compress yet</source>
        <translation>{0}: noch nichts zu komprimieren</translation>
    </message>
    <message>
        <source>{0} of {1} layers {2}</source>
        <translation>{0} von {1} Schichten {2}</translation>
    </message>
    <message>
        <source>Layers</source>
        <translation>Schichten</translation>
    </message>
    <message>
        <source>{0}: {1}</source>
        <translation>{0}: {1}</translation>
    </message>
    <message>
        <source>Not in use at the moment</source>
        <translation>Zurzeit nicht in Gebrauch</translation>
    </message>
    <message>
        <source>The next reply goes on from here.</source>
        <translation>Die nächste Antwort geht von hier weiter.</translation>
    </message>
    <message>
        <source>Nothing is cached yet</source>
        <translation>Noch nichts im Cache</translation>
    </message>
    <message>
        <source>{0} layers stay uncompressed</source>
        <translation>{0} Schichten bleiben unkomprimiert</translation>
    </message>
    <message>
        <source>All {0} tokens are still uncompressed</source>
        <translation>Alle {0} Token sind noch unkomprimiert</translation>
    </message>
    <message>
        <source>The first {0} and the newest {1} tokens are uncompressed</source>
        <translation>Die ersten {0} und die neuesten {1} Token sind unkomprimiert</translation>
    </message>
    <message>
        <source>{0}: nothing compressed yet</source>
        <translation>{0}: noch nichts komprimiert</translation>
    </message>
    <message>
        <source>Nothing is cached now</source>
        <translation>Zurzeit ist nichts im Cache</translation>
    </message>
    <message>
        <source>The next reply reads the text again.</source>
        <translation>Die nächste Antwort liest den Text neu.</translation>
    </message>
    <message>
        <source>Compressed when the prompt has been read.</source>
        <translation>Komprimiert wird nach dem Lesen des Prompts.</translation>
    </message>
</context>
<context>
    <name>Exchange</name>
    <message>
        <source>Export</source>
        <translation>Exportieren</translation>
    </message>
    <message>
        <source>As Markdown…</source>
        <translation>Als Markdown …</translation>
    </message>
    <message>
        <source>As JSON…</source>
        <translation>Als JSON …</translation>
    </message>
    <message>
        <source>With its cache…</source>
        <translation>Mit ihrem Cache …</translation>
    </message>
    <message>
        <source>A reply is being written in this conversation. Its cache can be exported when that has ended; the text, as far as it is, goes out as Markdown or JSON at any time.</source>
        <translation>In dieser Unterhaltung wird eine Antwort geschrieben. Ihr Cache lässt sich danach exportieren; der Text, so weit er ist, jederzeit als Markdown oder JSON.</translation>
    </message>
    <message>
        <source>Markdown (*.md)</source>
        <translation>Markdown (*.md)</translation>
    </message>
    <message>
        <source>JSON (*.json)</source>
        <translation>JSON (*.json)</translation>
    </message>
    <message>
        <source>Conversation with its cache (*.turbochat)</source>
        <translation>Unterhaltung mit ihrem Cache (*.turbochat)</translation>
    </message>
    <message>
        <source>Export the conversation</source>
        <translation>Unterhaltung exportieren</translation>
    </message>
    <message>
        <source>The export is written when the reply has ended that is being made.</source>
        <translation>Der Export wird geschrieben, sobald die laufende Antwort zu Ende ist.</translation>
    </message>
    <message>
        <source>Exporting to {0}…</source>
        <translation>Export nach {0} …</translation>
    </message>
    <message>
        <source>Exported: {0}, {1}</source>
        <translation>Exportiert: {0}, {1}</translation>
    </message>
    <message>
        <source>It holds the text only: no cache of this conversation is saved.</source>
        <translation>Er enthält nur den Text: von dieser Unterhaltung ist kein Cache gespeichert.</translation>
    </message>
    <message>
        <source>Show the folder</source>
        <translation>Ordner zeigen</translation>
    </message>
    <message>
        <source>Conversations (*.turbochat *.json)</source>
        <translation>Unterhaltungen (*.turbochat *.json)</translation>
    </message>
    <message>
        <source>Import conversations</source>
        <translation>Unterhaltungen importieren</translation>
    </message>
    <message>
        <source>Importing {0}…</source>
        <translation>{0} wird importiert …</translation>
    </message>
    <message>
        <source>New conversation</source>
        <translation>Neue Unterhaltung</translation>
    </message>
    <message>
        <source>“{0}” was imported.</source>
        <translation>„{0}“ wurde importiert.</translation>
    </message>
    <message>
        <source>Its cache was left out: {0}. The next reply reads the text again.</source>
        <translation>Ihr Cache wurde ausgelassen: {0}. Die nächste Antwort liest den Text neu.</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
</context>
<context>
    <name>Faults</name>
    <message>
        <source>Something went wrong in the program; your conversations are kept. The log says more. ({0})</source>
        <translation>Im Programm ging etwas schief; die Unterhaltungen sind erhalten. Mehr steht im Protokoll. ({0})</translation>
    </message>
</context>
<context>
    <name>Field</name>
    <message>
        <source>Reset</source>
        <translation>Zurücksetzen</translation>
    </message>
    <message>
        <source>Reset to {0}</source>
        <translation>Auf {0} zurücksetzen</translation>
    </message>
    <message>
        <source>The model&apos;s default</source>
        <translation>Vorgabe des Modells</translation>
    </message>
    <message>
        <source>Model&apos;s default.</source>
        <translation>Vorgabe des Modells.</translation>
    </message>
</context>
<context>
    <name>FindBar</name>
    <message>
        <source>Find in this conversation</source>
        <translation>In dieser Unterhaltung suchen</translation>
    </message>
    <message>
        <source>Previous hit</source>
        <translation>Voriger Treffer</translation>
    </message>
    <message>
        <source>Next hit</source>
        <translation>Nächster Treffer</translation>
    </message>
    <message>
        <source>Close the find bar</source>
        <translation>Suchleiste schließen</translation>
    </message>
    <message>
        <source>No hits</source>
        <translation>Keine Treffer</translation>
    </message>
    <message>
        <source>Hit {0} of {1}</source>
        <translation>Treffer {0} von {1}</translation>
    </message>
</context>
<context>
    <name>FitView</name>
    <message>
        <source>Fit on this computer</source>
        <translation>Bedarf auf diesem Rechner</translation>
    </message>
    <message>
        <source>Weights {0} · {1} free now of {2} that models may take · {3} in this computer</source>
        <translation>Gewichte {0} · {1} frei von {2}, die Modelle nehmen dürfen · {3} in diesem Rechner</translation>
    </message>
    <message>
        <source>Predicted: weights, work space and cache together, by context. Longest: the context for which the memory that is free now suffices.</source>
        <translation>Vorhergesagt: Gewichte, Arbeitsspeicher und Cache zusammen, je Kontext. Längster: der Kontext, für den der jetzt freie Speicher reicht.</translation>
    </message>
    <message>
        <source>cache with {0} at {1}</source>
        <translation>Cache mit {0} bei {1}</translation>
    </message>
</context>
<context>
    <name>GeneralPage</name>
    <message>
        <source>Light</source>
        <translation>Hell</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>Dunkel</translation>
    </message>
    <message>
        <source>Appearance</source>
        <translation>Erscheinungsbild</translation>
    </message>
    <message>
        <source>Text size</source>
        <translation>Schriftgröße</translation>
    </message>
    <message>
        <source>Language</source>
        <translation>Sprache</translation>
    </message>
    <message>
        <source>The language changes with the next start.</source>
        <translation>Die Sprache wechselt mit dem nächsten Start.</translation>
    </message>
    <message>
        <source>When the program starts</source>
        <translation>Beim Start des Programms</translation>
    </message>
    <message>
        <source>Open the conversation used last</source>
        <translation>Die letzte Unterhaltung öffnen</translation>
    </message>
    <message>
        <source>Load the model used last</source>
        <translation>Das zuletzt verwendete Modell laden</translation>
    </message>
    <message>
        <source>Match the system</source>
        <translation>Dem System folgen</translation>
    </message>
    <message>
        <source>The one chosen last</source>
        <translation>Die zuletzt gewählte</translation>
    </message>
    <message>
        <source>Compression of new conversations</source>
        <translation>Kompression neuer Unterhaltungen</translation>
    </message>
</context>
<context>
    <name>Generation</name>
    <message>
        <source>Give it a name.</source>
        <translation>Ein Name fehlt.</translation>
    </message>
    <message>
        <source>That name is too long.</source>
        <translation>Der Name ist zu lang.</translation>
    </message>
    <message>
        <source>There is a profile of that name.</source>
        <translation>Ein Profil dieses Namens gibt es schon.</translation>
    </message>
    <message>
        <source>The profile “{0}” is deleted. Conversations keep their settings.</source>
        <translation>Das Profil „{0}“ ist gelöscht. Unterhaltungen behalten ihre Einstellungen.</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
</context>
<context>
    <name>GenerationPanel</name>
    <message>
        <source>Reply settings</source>
        <translation>Einstellungen der Antworten</translation>
    </message>
    <message>
        <source>Name of the profile</source>
        <translation>Name des Profils</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>Speichern</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>No profile</source>
        <translation>Kein Profil</translation>
    </message>
    <message>
        <source>Own settings</source>
        <translation>Eigene Einstellungen</translation>
    </message>
    <message>
        <source>{0} (changed)</source>
        <translation>{0} (geändert)</translation>
    </message>
    <message>
        <source>Profile: {0}</source>
        <translation>Profil: {0}</translation>
    </message>
    <message>
        <source>on</source>
        <translation>an</translation>
    </message>
    <message>
        <source>off</source>
        <translation>aus</translation>
    </message>
    <message>
        <source>For this conversation. What you haven&apos;t set follows the model.</source>
        <translation>Für diese Unterhaltung. Was nicht gesetzt ist, folgt dem Modell.</translation>
    </message>
    <message>
        <source>A reply is being written: what you change holds from the next one on.</source>
        <translation>Eine Antwort wird geschrieben: Änderungen gelten ab der nächsten.</translation>
    </message>
    <message>
        <source>No profile: as the model has it</source>
        <translation>Kein Profil: wie das Modell es vorgibt</translation>
    </message>
    <message>
        <source>Save the changes to “{0}”</source>
        <translation>Änderungen in „{0}“ speichern</translation>
    </message>
    <message>
        <source>Save as a new profile…</source>
        <translation>Als neues Profil speichern …</translation>
    </message>
    <message>
        <source>Rename “{0}”…</source>
        <translation>„{0}“ umbenennen …</translation>
    </message>
    <message>
        <source>Delete “{0}”</source>
        <translation>„{0}“ löschen</translation>
    </message>
    <message>
        <source>New conversations begin with “{0}”</source>
        <translation>Neue Unterhaltungen beginnen mit „{0}“</translation>
    </message>
    <message>
        <source>Rename</source>
        <translation>Umbenennen</translation>
    </message>
    <message>
        <source>System prompt</source>
        <translation>Systemanweisung</translation>
    </message>
    <message>
        <source>Thinking</source>
        <translation>Nachdenken</translation>
    </message>
    <message>
        <source>Whether it may think before it answers.</source>
        <translation>Ob es nachdenken darf, bevor es antwortet.</translation>
    </message>
    <message>
        <source>Choice of words</source>
        <translation>Wortwahl</translation>
    </message>
    <message>
        <source>Temperature</source>
        <translation>Temperatur</translation>
    </message>
    <message>
        <source>0 takes the likeliest word each time; more makes it more varied.</source>
        <translation>0 nimmt jedes Mal das wahrscheinlichste Wort; mehr macht es abwechslungsreicher.</translation>
    </message>
    <message>
        <source>Top-p</source>
        <translation>Top-p</translation>
    </message>
    <message>
        <source>Only the likeliest words that make up this share together; 1: all.</source>
        <translation>Nur die wahrscheinlichsten Wörter, die zusammen diesen Anteil haben; 1: alle.</translation>
    </message>
    <message>
        <source>Top-k</source>
        <translation>Top-k</translation>
    </message>
    <message>
        <source>Only so many of the likeliest words; 0: no limit.</source>
        <translation>Nur so viele der wahrscheinlichsten Wörter; 0: keine Grenze.</translation>
    </message>
    <message>
        <source>Min-p</source>
        <translation>Min-p</translation>
    </message>
    <message>
        <source>Only words at least this likely, beside the likeliest one; 0: off.</source>
        <translation>Nur Wörter, die gemessen am wahrscheinlichsten mindestens so wahrscheinlich sind; 0: aus.</translation>
    </message>
    <message>
        <source>Repetition</source>
        <translation>Wiederholung</translation>
    </message>
    <message>
        <source>Penalty</source>
        <translation>Strafe</translation>
    </message>
    <message>
        <source>Above 1, words that were used come less often; 1: off.</source>
        <translation>Über 1 kommen schon verwendete Wörter seltener; 1: aus.</translation>
    </message>
    <message>
        <source>Looks back</source>
        <translation>Rückblick</translation>
    </message>
    <message>
        <source>So many of the last tokens count as used.</source>
        <translation>So viele der letzten Token gelten als verwendet.</translation>
    </message>
    <message>
        <source>Where it ends</source>
        <translation>Wo sie endet</translation>
    </message>
    <message>
        <source>Longest reply</source>
        <translation>Längste Antwort</translation>
    </message>
    <message>
        <source>In tokens, thoughts included.</source>
        <translation>In Token, mit den Gedanken.</translation>
    </message>
    <message>
        <source>Stop strings</source>
        <translation>Stoppwörter</translation>
    </message>
    <message>
        <source>A reply ends before any of these, one a line; \n stands for a line break.</source>
        <translation>Eine Antwort endet vor jedem davon, eines je Zeile; \n steht für einen Zeilenumbruch.</translation>
    </message>
    <message>
        <source>Seed</source>
        <translation>Startwert</translation>
    </message>
    <message>
        <source>The same number gives the same reply to the same text; empty: another each time.</source>
        <translation>Dieselbe Zahl gibt auf denselben Text dieselbe Antwort; leer: jedes Mal eine andere.</translation>
    </message>
    <message>
        <source>Who the model is and how it answers. After a change it reads the conversation again.</source>
        <translation>Wer das Modell ist und wie es antwortet. Nach einer Änderung liest es die Unterhaltung von vorn.</translation>
    </message>
</context>
<context>
    <name>HubDetail</name>
    <message>
        <source>Download</source>
        <translation>Herunterladen</translation>
    </message>
    <message>
        <source>Load</source>
        <translation>Laden</translation>
    </message>
    <message>
        <source>Open its page</source>
        <translation>Seite öffnen</translation>
    </message>
    <message>
        <source>Working out what it takes…</source>
        <translation>Der Bedarf wird ermittelt …</translation>
    </message>
    <message>
        <source>Download · {0}</source>
        <translation>Herunterladen · {0}</translation>
    </message>
    <message>
        <source>Can&apos;t run here. {0}</source>
        <translation>Läuft hier nicht. {0}</translation>
    </message>
    <message>
        <source>Installed</source>
        <translation>Installiert</translation>
    </message>
    <message>
        <source>gated: its terms must be accepted on its page</source>
        <translation>zugangsbeschränkt: auf seiner Seite muss den Bedingungen zugestimmt werden</translation>
    </message>
    <message>
        <source>gated: its authors decide who may have it</source>
        <translation>zugangsbeschränkt: seine Autoren entscheiden, wer es bekommt</translation>
    </message>
    <message>
        <source>About</source>
        <translation>Über</translation>
    </message>
    <message>
        <source>Parameters</source>
        <translation>Parameter</translation>
    </message>
    <message>
        <source>Weights</source>
        <translation>Gewichte</translation>
    </message>
    <message>
        <source>Quantisation</source>
        <translation>Quantisierung</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>Kontext</translation>
    </message>
    <message>
        <source>Architecture</source>
        <translation>Architektur</translation>
    </message>
    <message>
        <source>Licence</source>
        <translation>Lizenz</translation>
    </message>
    <message>
        <source>Access</source>
        <translation>Zugang</translation>
    </message>
    <message>
        <source>Chat</source>
        <translation>Chat</translation>
    </message>
    <message numerus="yes">
        <source>{0} in {1} files</source>
        <translation>
            <numerusform>{0} in {1} Datei</numerusform>
            <numerusform>{0} in {1} Dateien</numerusform>
        </translation>
    </message>
    <message>
        <source>{0} downloads · {1} likes</source>
        <translation>{0} Downloads · {1} Likes</translation>
    </message>
    <message>
        <source>Popularity</source>
        <translation>Beliebtheit</translation>
    </message>
    <message>
        <source>Updated</source>
        <translation>Aktualisiert</translation>
    </message>
    <message>
        <source>has a chat template</source>
        <translation>hat eine Chatvorlage</translation>
    </message>
    <message>
        <source>no chat template: a base model, which continues text instead of answering</source>
        <translation>keine Chatvorlage: ein Basismodell, das Text fortsetzt, statt zu antworten</translation>
    </message>
    <message>
        <source>{0} tokens</source>
        <translation>{0} Token</translation>
    </message>
    <message>
        <source>What it takes can be told when its files may be read.</source>
        <translation>Der Bedarf lässt sich sagen, sobald seine Dateien gelesen werden dürfen.</translation>
    </message>
    <message>
        <source>What it takes here can&apos;t be predicted: {0}</source>
        <translation>Der Bedarf lässt sich hier nicht vorhersagen: {0}</translation>
    </message>
    <message>
        <source>Supported by this program</source>
        <translation>Wird von diesem Programm unterstützt</translation>
    </message>
</context>
<context>
    <name>InstallJob</name>
    <message>
        <source>The model couldn&apos;t be installed. Nothing was kept of it.</source>
        <translation>Das Modell konnte nicht installiert werden. Nichts davon wurde behalten.</translation>
    </message>
</context>
<context>
    <name>InstalledDetail</name>
    <message>
        <source>Load</source>
        <translation>Laden</translation>
    </message>
    <message>
        <source>Import</source>
        <translation>Importieren</translation>
    </message>
    <message>
        <source>Download what is missing</source>
        <translation>Fehlendes herunterladen</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Check its files</source>
        <translation>Dateien prüfen</translation>
    </message>
    <message>
        <source>Compares every byte with the hub&apos;s checksums</source>
        <translation>Vergleicht jedes Byte mit den Prüfsummen des Hubs</translation>
    </message>
    <message>
        <source>Show in Finder</source>
        <translation>Im Finder zeigen</translation>
    </message>
    <message>
        <source>Show in its folder</source>
        <translation>In seinem Ordner zeigen</translation>
    </message>
    <message>
        <source>Delete…</source>
        <translation>Löschen …</translation>
    </message>
    <message>
        <source>Progress</source>
        <translation>Fortschritt</translation>
    </message>
    <message>
        <source>Loaded</source>
        <translation>Geladen</translation>
    </message>
    <message>
        <source>With all that is listed of it; the files stay where they are</source>
        <translation>Mit allem, was davon aufgeführt ist; die Dateien bleiben, wo sie sind</translation>
    </message>
    <message>
        <source>It is loaded: load another one first</source>
        <translation>Es ist geladen: zuerst ein anderes laden</translation>
    </message>
    <message>
        <source>Every byte is as the hub has it</source>
        <translation>Jedes Byte ist wie auf dem Hub</translation>
    </message>
    <message>
        <source>Complete: it loads without the network</source>
        <translation>Vollständig: es lädt ohne Netz</translation>
    </message>
    <message>
        <source>Downloaded from the hub: {0}</source>
        <translation>Vom Hub geladen: {0}</translation>
    </message>
    <message>
        <source>MLX folder</source>
        <translation>MLX-Ordner</translation>
    </message>
    <message>
        <source>GGUF file: imported before it can be loaded</source>
        <translation>GGUF-Datei: vor dem Laden wird sie importiert</translation>
    </message>
    <message>
        <source>has a chat template</source>
        <translation>hat eine Chatvorlage</translation>
    </message>
    <message>
        <source>no chat template</source>
        <translation>keine Chatvorlage</translation>
    </message>
    <message>
        <source>{0} tokens</source>
        <translation>{0} Token</translation>
    </message>
    <message>
        <source>Kind</source>
        <translation>Art</translation>
    </message>
    <message>
        <source>Size on disk</source>
        <translation>Größe auf der Platte</translation>
    </message>
    <message>
        <source>Weights</source>
        <translation>Gewichte</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>Kontext</translation>
    </message>
    <message>
        <source>Chat</source>
        <translation>Chat</translation>
    </message>
    <message>
        <source>Note</source>
        <translation>Hinweis</translation>
    </message>
    <message>
        <source>Working out what it takes…</source>
        <translation>Der Bedarf wird ermittelt …</translation>
    </message>
    <message>
        <source>What it takes here can&apos;t be predicted: {0}</source>
        <translation>Der Bedarf lässt sich hier nicht vorhersagen: {0}</translation>
    </message>
    <message>
        <source>Take off the list</source>
        <translation>Von der Liste nehmen</translation>
    </message>
    <message>
        <source>Take “{0}” off the list</source>
        <translation>„{0}“ von der Liste nehmen</translation>
    </message>
</context>
<context>
    <name>InstalledPage</name>
    <message>
        <source>Installed models</source>
        <translation>Installierte Modelle</translation>
    </message>
    <message>
        <source>Add a folder…</source>
        <translation>Ordner hinzufügen …</translation>
    </message>
    <message>
        <source>Add a GGUF file…</source>
        <translation>GGUF-Datei hinzufügen …</translation>
    </message>
    <message>
        <source>“{0}” holds no model: a model&apos;s folder has a config.json, a GGUF file ends in .gguf.</source>
        <translation>„{0}“ enthält kein Modell: ein Modellordner hat eine config.json, eine GGUF-Datei endet auf .gguf.</translation>
    </message>
    <message>
        <source>From the hub</source>
        <translation>Vom Hub</translation>
    </message>
    <message>
        <source>MLX folders</source>
        <translation>MLX-Ordner</translation>
    </message>
    <message>
        <source>GGUF files</source>
        <translation>GGUF-Dateien</translation>
    </message>
    <message>
        <source>Nothing is installed yet. Find a model, or drop a folder or a GGUF file onto this window.</source>
        <translation>Noch ist nichts installiert. Ein Modell finden, oder einen Ordner oder eine GGUF-Datei auf dieses Fenster ziehen.</translation>
    </message>
    <message>
        <source>Looking for models…</source>
        <translation>Suche nach Modellen …</translation>
    </message>
    <message numerus="yes">
        <source>{0} models, {1} on disk</source>
        <translation>
            <numerusform>{0} Modell, {1} auf der Platte</numerusform>
            <numerusform>{0} Modelle, {1} auf der Platte</numerusform>
        </translation>
    </message>
    <message>
        <source>ready</source>
        <translation>bereit</translation>
    </message>
    <message>
        <source>incomplete</source>
        <translation>unvollständig</translation>
    </message>
    <message>
        <source>damaged</source>
        <translation>beschädigt</translation>
    </message>
    <message>
        <source>can&apos;t run</source>
        <translation>läuft nicht</translation>
    </message>
    <message>
        <source>to import</source>
        <translation>zu importieren</translation>
    </message>
    <message>
        <source>loaded</source>
        <translation>geladen</translation>
    </message>
    <message>
        <source>{0} context</source>
        <translation>{0} Kontext</translation>
    </message>
    <message>
        <source>no chat template</source>
        <translation>keine Chatvorlage</translation>
    </message>
    <message>
        <source>Models that you download or add are listed here.</source>
        <translation>Heruntergeladene und hinzugefügte Modelle stehen hier.</translation>
    </message>
    <message>
        <source>Choose a folder with an MLX model</source>
        <translation>Ordner mit einem MLX-Modell wählen</translation>
    </message>
    <message>
        <source>GGUF files (*.gguf)</source>
        <translation>GGUF-Dateien (*.gguf)</translation>
    </message>
    <message>
        <source>Choose a GGUF file</source>
        <translation>GGUF-Datei wählen</translation>
    </message>
    <message>
        <source>Delete {0}?</source>
        <translation>{0} löschen?</translation>
    </message>
    <message>
        <source>This frees {0}. Conversations stay, and go on with any other model.</source>
        <translation>Das gibt {0} frei. Unterhaltungen bleiben und gehen mit jedem anderen Modell weiter.</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Löschen</translation>
    </message>
</context>
<context>
    <name>Licences</name>
    <message>
        <source>Licences</source>
        <translation>Lizenzen</translation>
    </message>
    <message>
        <source>Packages</source>
        <translation>Pakete</translation>
    </message>
    <message>
        <source>Text of the licence</source>
        <translation>Text der Lizenz</translation>
    </message>
    <message>
        <source>This package names its licence and carries no text of it.</source>
        <translation>Dieses Paket nennt seine Lizenz und enthält keinen Text davon.</translation>
    </message>
</context>
<context>
    <name>LinkQuestion</name>
    <message>
        <source>Open a link</source>
        <translation>Link öffnen</translation>
    </message>
    <message>
        <source>Open this address outside the program?</source>
        <translation>Diese Adresse außerhalb des Programms öffnen?</translation>
    </message>
    <message>
        <source>Addresses of this kind aren&apos;t opened from a conversation.</source>
        <translation>Adressen dieser Art werden aus einer Unterhaltung nicht geöffnet.</translation>
    </message>
    <message>
        <source>Write a message</source>
        <translation>Nachricht schreiben</translation>
    </message>
    <message>
        <source>Open in the browser</source>
        <translation>Im Browser öffnen</translation>
    </message>
    <message>
        <source>Copy the address</source>
        <translation>Adresse kopieren</translation>
    </message>
</context>
<context>
    <name>ListAndDetail</name>
    <message>
        <source>‹ Back to the list</source>
        <translation>‹ Zurück zur Liste</translation>
    </message>
</context>
<context>
    <name>LoadGuard</name>
    <message>
        <source>Choose a smaller model</source>
        <translation>Ein kleineres Modell wählen</translation>
    </message>
    <message>
        <source>Load it anyway</source>
        <translation>Trotzdem laden</translation>
    </message>
    <message>
        <source>Load it for {0} tokens with {1}</source>
        <translation>Für {0} Token mit {1} laden</translation>
    </message>
</context>
<context>
    <name>Loading</name>
    <message>
        <source>Install the starter model</source>
        <translation>Das Startmodell installieren</translation>
    </message>
    <message>
        <source>Choose a folder with an MLX model</source>
        <translation>Ordner mit einem MLX-Modell wählen</translation>
    </message>
    <message>
        <source>{0} {1} is loaded again.</source>
        <translation>{0} {1} wird wieder geladen.</translation>
    </message>
    <message>
        <source>No model is loaded</source>
        <translation>Kein Modell ist geladen</translation>
    </message>
    <message>
        <source>Load {0}</source>
        <translation>{0} laden</translation>
    </message>
    <message>
        <source>Choose a model</source>
        <translation>Modell wählen</translation>
    </message>
</context>
<context>
    <name>MainWindow</name>
    <message>
        <source>TurboQuant Chat</source>
        <translation>TurboQuant Chat</translation>
    </message>
</context>
<context>
    <name>MemoryBar</name>
    <message>
        <source>in use or reserved</source>
        <translation>belegt oder reserviert</translation>
    </message>
    <message>
        <source>this model</source>
        <translation>dieses Modell</translation>
    </message>
    <message>
        <source>free</source>
        <translation>frei</translation>
    </message>
    <message>
        <source>missing</source>
        <translation>fehlt</translation>
    </message>
</context>
<context>
    <name>MemoryChart</name>
    <message>
        <source>Memory of this conversation</source>
        <translation>Speicher dieser Unterhaltung</translation>
    </message>
    <message>
        <source>{0} measured at {1} tokens with {2}; {3} uncompressed</source>
        <translation>{0} gemessen bei {1} Token mit {2}; {3} unkomprimiert</translation>
    </message>
    <message>
        <source>The curve begins with the first message.</source>
        <translation>Die Kurve beginnt mit der ersten Nachricht.</translation>
    </message>
    <message>
        <source>tokens</source>
        <translation>Token</translation>
    </message>
    <message numerus="yes">
        <source>{0} tokens</source>
        <translation>
            <numerusform>{0} Token</numerusform>
            <numerusform>{0} Token</numerusform>
        </translation>
    </message>
    <message>
        <source>measured</source>
        <translation>gemessen</translation>
    </message>
    <message>
        <source>predicted</source>
        <translation>vorhergesagt</translation>
    </message>
    <message>
        <source>uncompressed while the prompt is read</source>
        <translation>unkomprimiert, während der Prompt gelesen wird</translation>
    </message>
    <message>
        <source>all tokens still uncompressed</source>
        <translation>alle Token noch unkomprimiert</translation>
    </message>
</context>
<context>
    <name>MemoryPanel</name>
    <message>
        <source>Memory</source>
        <translation>Speicher</translation>
    </message>
    <message>
        <source>KV cache scheme</source>
        <translation>KV-Cache-Schema</translation>
    </message>
    <message>
        <source>Measured size of the cache</source>
        <translation>Gemessene Größe des Caches</translation>
    </message>
    <message>
        <source>Memory of this conversation</source>
        <translation>Speicher dieser Unterhaltung</translation>
    </message>
    <message>
        <source>Context</source>
        <translation>Kontext</translation>
    </message>
    <message>
        <source>Speed</source>
        <translation>Tempo</translation>
    </message>
    <message>
        <source>Tokens a second while the last reply was written</source>
        <translation>Token je Sekunde, während die letzte Antwort geschrieben wurde</translation>
    </message>
    <message>
        <source>Allocated</source>
        <translation>Zugeteilt</translation>
    </message>
    <message>
        <source>What the cache&apos;s buffers take: they grow in steps, ahead of the tokens that fill them</source>
        <translation>Was die Puffer des Caches belegen: sie wachsen in Schritten, den Token voraus, die sie füllen</translation>
    </message>
    <message>
        <source>Program</source>
        <translation>Programm</translation>
    </message>
    <message>
        <source>Memory of the whole program (the model, this cache and the rest), of what this computer has</source>
        <translation>Speicher des ganzen Programms (Modell, dieser Cache und der Rest), von dem, was dieser Rechner hat</translation>
    </message>
    <message>
        <source>Saved on disk</source>
        <translation>Auf der Platte</translation>
    </message>
    <message>
        <source>The compressed cache, kept for the next start</source>
        <translation>Der komprimierte Cache, für den nächsten Start aufgehoben</translation>
    </message>
    <message>
        <source>Reading it again</source>
        <translation>Neu lesen</translation>
    </message>
    <message>
        <source>The most that MLX held while the last prompt was read (above what it held afterwards)</source>
        <translation>Das Meiste, was MLX hielt, während der letzte Prompt gelesen wurde (über dem, was es danach hielt)</translation>
    </message>
    <message>
        <source>Discard the saved cache, keep the text</source>
        <translation>Cache verwerfen, Text behalten</translation>
    </message>
    <message>
        <source>nothing cached yet</source>
        <translation>noch nichts im Cache</translation>
    </message>
    <message>
        <source>of {0} uncompressed</source>
        <translation>von {0} unkomprimiert</translation>
    </message>
    <message>
        <source>{0} of {1}</source>
        <translation>{0} von {1}</translation>
    </message>
    <message>
        <source>loaded in {0}</source>
        <translation>in {0} geladen</translation>
    </message>
    <message>
        <source>saved in {0}</source>
        <translation>in {0} gespeichert</translation>
    </message>
    <message>
        <source>about {0}</source>
        <translation>etwa {0}</translation>
    </message>
    <message>
        <source>uncompressed</source>
        <translation>unkomprimiert</translation>
    </message>
    <message>
        <source>measured last</source>
        <translation>zuletzt gemessen</translation>
    </message>
    <message>
        <source>Peak while reading</source>
        <translation>Höchststand</translation>
    </message>
    <message>
        <source>Tokens of this conversation that the model has read, of those that it has room for</source>
        <translation>Token dieser Unterhaltung, die das Modell gelesen hat, von denen, für die es Platz hat</translation>
    </message>
    <message>
        <source>An estimate of how long reading the whole text again would take, which a saved cache spares: from the speed at which this model last read a prompt</source>
        <translation>Geschätzt, wie lange es dauern würde, den ganzen Text neu zu lesen, was ein gespeicherter Cache erspart: nach dem Tempo, in dem dieses Modell zuletzt einen Prompt gelesen hat</translation>
    </message>
    <message>
        <source>not cached now</source>
        <translation>zurzeit nicht im Cache</translation>
    </message>
    <message>
        <source>still uncompressed</source>
        <translation>noch unkomprimiert</translation>
    </message>
</context>
<context>
    <name>MessageEditor</name>
    <message>
        <source>Edit this message</source>
        <translation>Diese Nachricht bearbeiten</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Leave the message as it was (Esc)</source>
        <translation>Nachricht lassen, wie sie war (Esc)</translation>
    </message>
    <message>
        <source>Save &amp;&amp; answer</source>
        <translation>Speichern &amp;&amp; antworten</translation>
    </message>
    <message>
        <source>Save and answer</source>
        <translation>Speichern und antworten</translation>
    </message>
    <message>
        <source>Answer this instead; what was said before is kept ({0})</source>
        <translation>Stattdessen hierauf antworten; was vorher gesagt wurde, bleibt erhalten ({0})</translation>
    </message>
</context>
<context>
    <name>MessageTools</name>
    <message>
        <source>Tools of this message</source>
        <translation>Werkzeuge dieser Nachricht</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Copy this message</source>
        <translation>Diese Nachricht kopieren</translation>
    </message>
    <message>
        <source>Edit</source>
        <translation>Bearbeiten</translation>
    </message>
    <message>
        <source>Edit this message</source>
        <translation>Diese Nachricht bearbeiten</translation>
    </message>
    <message>
        <source>Copy the whole reply as markdown</source>
        <translation>Die ganze Antwort als Markdown kopieren</translation>
    </message>
    <message>
        <source>Copy this reply</source>
        <translation>Diese Antwort kopieren</translation>
    </message>
    <message>
        <source>Answer again</source>
        <translation>Noch einmal antworten</translation>
    </message>
    <message>
        <source>Version {0} of {1}</source>
        <translation>Fassung {0} von {1}</translation>
    </message>
    <message>
        <source>Previous version</source>
        <translation>Vorige Fassung</translation>
    </message>
    <message>
        <source>Next version</source>
        <translation>Nächste Fassung</translation>
    </message>
    <message>
        <source>Copy message</source>
        <translation>Nachricht kopieren</translation>
    </message>
    <message>
        <source>Copy reply</source>
        <translation>Antwort kopieren</translation>
    </message>
</context>
<context>
    <name>ModelBrowser</name>
    <message>
        <source>Models found</source>
        <translation>Gefundene Modelle</translation>
    </message>
    <message>
        <source>Search the Hugging Face hub</source>
        <translation>Den Hugging-Face-Hub durchsuchen</translation>
    </message>
    <message>
        <source>Search models on the hub</source>
        <translation>Modelle auf dem Hub suchen</translation>
    </message>
    <message>
        <source>Searching</source>
        <translation>Suche läuft</translation>
    </message>
    <message>
        <source>Choose a model to see whether it runs and fits on this computer.</source>
        <translation>Ein Modell wählen, um zu sehen, ob es auf diesem Rechner läuft und Platz hat.</translation>
    </message>
    <message>
        <source>Most downloaded</source>
        <translation>Meistgeladen</translation>
    </message>
    <message>
        <source>Most liked</source>
        <translation>Beliebteste</translation>
    </message>
    <message>
        <source>Newest</source>
        <translation>Neueste</translation>
    </message>
    <message>
        <source>Trending</source>
        <translation>Gefragt</translation>
    </message>
    <message>
        <source>MLX models only</source>
        <translation>Nur MLX-Modelle</translation>
    </message>
    <message>
        <source>Hide what can&apos;t run here</source>
        <translation>Verbergen, was hier nicht läuft</translation>
    </message>
    <message>
        <source>Hide gated models</source>
        <translation>Zugangsbeschränkte verbergen</translation>
    </message>
    <message>
        <source>Hide what this computer&apos;s memory can&apos;t hold</source>
        <translation>Verbergen, was in den Speicher dieses Rechners nicht passt</translation>
    </message>
    <message>
        <source>Order: {0}</source>
        <translation>Ordnung: {0}</translation>
    </message>
    <message>
        <source>Filters · {0}</source>
        <translation>Filter · {0}</translation>
    </message>
    <message>
        <source>Filters</source>
        <translation>Filter</translation>
    </message>
    <message>
        <source>Good to start with</source>
        <translation>Gut für den Anfang</translation>
    </message>
    <message>
        <source>Nothing on the hub matches. Try fewer words, or fewer filters.</source>
        <translation>Auf dem Hub passt nichts dazu. Mit weniger Wörtern oder Filtern versuchen.</translation>
    </message>
    <message>
        <source>{0} context</source>
        <translation>{0} Kontext</translation>
    </message>
    <message>
        <source>gated</source>
        <translation>beschränkt</translation>
    </message>
    <message>
        <source>failed</source>
        <translation>gescheitert</translation>
    </message>
    <message>
        <source>installed</source>
        <translation>installiert</translation>
    </message>
    <message>
        <source>can&apos;t run</source>
        <translation>läuft nicht</translation>
    </message>
    <message>
        <source>too large</source>
        <translation>zu groß</translation>
    </message>
    <message>
        <source>runs</source>
        <translation>läuft</translation>
    </message>
</context>
<context>
    <name>ModelButton</name>
    <message>
        <source>Loading the model</source>
        <translation>Das Modell wird geladen</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>No model</source>
        <translation>Kein Modell</translation>
    </message>
    <message>
        <source>loading…</source>
        <translation>wird geladen …</translation>
    </message>
    <message>
        <source>{0} in memory</source>
        <translation>{0} im Speicher</translation>
    </message>
    <message>
        <source>unloaded; the next message loads it again</source>
        <translation>entladen; die nächste Nachricht lädt es wieder</translation>
    </message>
    <message>
        <source>Model: {0}</source>
        <translation>Modell: {0}</translation>
    </message>
</context>
<context>
    <name>ModelsPage</name>
    <message>
        <source>Models</source>
        <translation>Modelle</translation>
    </message>
    <message>
        <source>Find</source>
        <translation>Finden</translation>
    </message>
    <message>
        <source>Installed</source>
        <translation>Installiert</translation>
    </message>
    <message>
        <source>Back to the chat</source>
        <translation>Zurück zum Chat</translation>
    </message>
    <message>
        <source>Unload an idle model</source>
        <translation>Ungenutztes Modell entladen</translation>
    </message>
    <message>
        <source>Its memory goes back to other programs; the next message loads it again.</source>
        <translation>Sein Speicher steht dann anderen Programmen offen; die nächste Nachricht lädt es wieder.</translation>
    </message>
    <message numerus="yes">
        <source>After %n minutes</source>
        <translation>
            <numerusform>Nach %n Minute</numerusform>
            <numerusform>Nach %n Minuten</numerusform>
        </translation>
    </message>
    <message>
        <source>Never</source>
        <translation>Nie</translation>
    </message>
</context>
<context>
    <name>Notice</name>
    <message>
        <source>Dismiss</source>
        <translation>Ausblenden</translation>
    </message>
</context>
<context>
    <name>Preferences</name>
    <message>
        <source>Preferences</source>
        <translation>Einstellungen</translation>
    </message>
    <message>
        <source>Pages</source>
        <translation>Seiten</translation>
    </message>
    <message>
        <source>General</source>
        <translation>Allgemein</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>Modelle</translation>
    </message>
</context>
<context>
    <name>Question</name>
    <message>
        <source>TurboQuant Chat</source>
        <translation>TurboQuant Chat</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
</context>
<context>
    <name>ReplySettings</name>
    <message>
        <source>{0} chosen by you</source>
        <translation>{0} selbst gewählt</translation>
    </message>
</context>
<context>
    <name>ReplyView</name>
    <message>
        <source>Reply</source>
        <translation>Antwort</translation>
    </message>
    <message>
        <source>Retry</source>
        <translation>Noch einmal</translation>
    </message>
    <message numerus="yes">
        <source>{0} tokens</source>
        <translation>
            <numerusform>{0} Token</numerusform>
            <numerusform>{0} Token</numerusform>
        </translation>
    </message>
    <message>
        <source>reused {0} of {1} prompt tokens</source>
        <translation>{0} von {1} Token des Prompts wiederverwendet</translation>
    </message>
    <message>
        <source>stopped by you</source>
        <translation>angehalten</translation>
    </message>
    <message>
        <source>ended at its length limit</source>
        <translation>an der Längengrenze beendet</translation>
    </message>
    <message>
        <source>cut off when the program ended</source>
        <translation>abgebrochen, als das Programm endete</translation>
    </message>
    <message>
        <source>Continue</source>
        <translation>Fortsetzen</translation>
    </message>
    <message>
        <source>Have this reply go on from its end</source>
        <translation>Diese Antwort von ihrem Ende an fortsetzen</translation>
    </message>
</context>
<context>
    <name>ReportView</name>
    <message>
        <source>Crash report</source>
        <translation>Absturzbericht</translation>
    </message>
    <message>
        <source>The report can&apos;t be read: {0}</source>
        <translation>Der Bericht ist nicht zu lesen: {0}</translation>
    </message>
    <message>
        <source>It is kept as {0}</source>
        <translation>Er liegt in {0}</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>Kopieren</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>Schließen</translation>
    </message>
</context>
<context>
    <name>ResultList</name>
    <message>
        <source>Found</source>
        <translation>Gefunden</translation>
    </message>
</context>
<context>
    <name>ResultModel</name>
    <message>
        <source>New conversation</source>
        <translation>Neue Unterhaltung</translation>
    </message>
</context>
<context>
    <name>Resuming</name>
    <message>
        <source>Load {0}</source>
        <translation>{0} laden</translation>
    </message>
    <message>
        <source>Choose another model</source>
        <translation>Ein anderes Modell wählen</translation>
    </message>
    <message>
        <source>Show report</source>
        <translation>Bericht zeigen</translation>
    </message>
    <message>
        <source>The program ended unexpectedly while {0} was being loaded.</source>
        <translation>Das Programm endete unerwartet, während {0} geladen wurde.</translation>
    </message>
    <message>
        <source>The program ended unexpectedly while {0} was reading the prompt in “{1}”.</source>
        <translation>Das Programm endete unerwartet, während {0} in „{1}“ den Prompt las.</translation>
    </message>
    <message>
        <source>The program ended unexpectedly while {0} was writing a reply in “{1}”.</source>
        <translation>Das Programm endete unerwartet, während {0} in „{1}“ eine Antwort schrieb.</translation>
    </message>
    <message>
        <source>The program ended unexpectedly while the cache of “{1}” was changed, with {0} loaded.</source>
        <translation>Das Programm endete unerwartet, während der Cache von „{1}“ umgestellt wurde; geladen war {0}.</translation>
    </message>
    <message>
        <source>The program ended unexpectedly while the saved cache of “{1}” was read for {0}.</source>
        <translation>Das Programm endete unerwartet, während der gespeicherte Cache von „{1}“ für {0} gelesen wurde.</translation>
    </message>
    <message>
        <source>a conversation</source>
        <translation>eine Unterhaltung</translation>
    </message>
    <message>
        <source>Memory may have run out, or something else ended it.</source>
        <translation>Vielleicht reichte der Speicher nicht, vielleicht war es etwas anderes.</translation>
    </message>
    <message>
        <source>Your conversations are kept, with what was written of a reply.</source>
        <translation>Die Unterhaltungen sind erhalten, auch was von einer Antwort geschrieben war.</translation>
    </message>
    <message>
        <source>That saved cache was removed; its text is read again when you go on.</source>
        <translation>Dieser gespeicherte Cache wurde entfernt; sein Text wird neu gelesen, wenn es weitergeht.</translation>
    </message>
    <message>
        <source>To be safe, no model was loaded.</source>
        <translation>Zur Sicherheit wurde kein Modell geladen.</translation>
    </message>
</context>
<context>
    <name>SchemeList</name>
    <message>
        <source>KV cache schemes</source>
        <translation>KV-Cache-Schemas</translation>
    </message>
</context>
<context>
    <name>SchemePicker</name>
    <message>
        <source>KV cache scheme</source>
        <translation>KV-Cache-Schema</translation>
    </message>
    <message>
        <source>{0} measured</source>
        <translation>{0} gemessen</translation>
    </message>
    <message>
        <source>{0} predicted</source>
        <translation>{0} vorhergesagt</translation>
    </message>
    <message>
        <source>{0}-bit</source>
        <translation>{0} Bit</translation>
    </message>
    <message>
        <source>{0} keys and values</source>
        <translation>{0} für Keys und Values</translation>
    </message>
    <message>
        <source>{0} keys, {1} values</source>
        <translation>{0} für Keys, {1} für Values</translation>
    </message>
    <message>
        <source>{0} is smaller and closer</source>
        <translation>{0} ist kleiner und genauer</translation>
    </message>
    <message>
        <source>{0} is as small and closer</source>
        <translation>{0} ist ebenso klein und genauer</translation>
    </message>
    <message>
        <source>not measured</source>
        <translation>nicht gemessen</translation>
    </message>
    <message>
        <source>exact</source>
        <translation>genau</translation>
    </message>
    <message>
        <source>KL {0}</source>
        <translation>KL {0}</translation>
    </message>
    <message>
        <source>How close it stays to the uncompressed cache wasn&apos;t measured.</source>
        <translation>Wie nah es am unkomprimierten Cache bleibt, wurde nicht gemessen.</translation>
    </message>
    <message>
        <source>KL divergence from the uncompressed cache {0}; the same likeliest next token {1} % of the time.</source>
        <translation>KL-Divergenz vom unkomprimierten Cache {0}; in {1} % der Fälle dasselbe wahrscheinlichste nächste Token.</translation>
    </message>
    <message>
        <source>Measured on {0}, {1} texts, {2} tokens, version {3}; other models differ.</source>
        <translation>Gemessen mit {0}, {1} Texten, {2} Token, Version {3}; andere Modelle weichen ab.</translation>
    </message>
    <message>
        <source>now {0}</source>
        <translation>jetzt {0}</translation>
    </message>
    <message>
        <source>This conversation takes {0} with it at its present length. What is predicted is what a long one comes to: the first and the newest tokens stay uncompressed.</source>
        <translation>Diese Unterhaltung belegt damit bei ihrer jetzigen Länge {0}. Vorhergesagt ist, worauf eine lange kommt: Die ersten und die neuesten Token bleiben unkomprimiert.</translation>
    </message>
    <message>
        <source>still uncompressed</source>
        <translation>noch unkomprimiert</translation>
    </message>
</context>
<context>
    <name>SearchField</name>
    <message>
        <source>Clear</source>
        <translation>Leeren</translation>
    </message>
</context>
<context>
    <name>SeedField</name>
    <message>
        <source>random</source>
        <translation>zufällig</translation>
    </message>
    <message>
        <source>A whole number from 0 to {0}; nothing was changed.</source>
        <translation>Eine ganze Zahl von 0 bis {0}; geändert wurde nichts.</translation>
    </message>
</context>
<context>
    <name>Shortcuts</name>
    <message>
        <source>Keyboard shortcuts</source>
        <translation>Tastenkürzel</translation>
    </message>
    <message>
        <source>In the message</source>
        <translation>In der Nachricht</translation>
    </message>
    <message>
        <source>Send</source>
        <translation>Senden</translation>
    </message>
    <message>
        <source>A new line</source>
        <translation>Neue Zeile</translation>
    </message>
    <message>
        <source>What you wrote before, while it is empty</source>
        <translation>Zuvor Geschriebenes, solange sie leer ist</translation>
    </message>
    <message>
        <source>In the list of conversations</source>
        <translation>In der Liste der Unterhaltungen</translation>
    </message>
    <message>
        <source>Another one</source>
        <translation>Eine andere</translation>
    </message>
    <message>
        <source>Back to the message</source>
        <translation>Zurück zur Nachricht</translation>
    </message>
    <message>
        <source>Delete it</source>
        <translation>Löschen</translation>
    </message>
    <message>
        <source>In the chart</source>
        <translation>Im Diagramm</translation>
    </message>
    <message>
        <source>Read its values</source>
        <translation>Werte ablesen</translation>
    </message>
</context>
<context>
    <name>Sidebar</name>
    <message>
        <source>Search</source>
        <translation>Suchen</translation>
    </message>
    <message>
        <source>Search all conversations</source>
        <translation>Alle Unterhaltungen durchsuchen</translation>
    </message>
    <message>
        <source>Nothing found</source>
        <translation>Nichts gefunden</translation>
    </message>
    <message>
        <source>Models</source>
        <translation>Modelle</translation>
    </message>
    <message>
        <source>Rename</source>
        <translation>Umbenennen</translation>
    </message>
    <message>
        <source>Pin to the top</source>
        <translation>Oben anheften</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Löschen</translation>
    </message>
    <message>
        <source>Unpin</source>
        <translation>Nicht mehr anheften</translation>
    </message>
</context>
<context>
    <name>StarterInstall</name>
    <message>
        <source>Installing the starter model</source>
        <translation>Das Startmodell wird installiert</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
    <message>
        <source>Starting</source>
        <translation>Beginnt</translation>
    </message>
    <message>
        <source>Installing the starter model: {0}</source>
        <translation>Das Startmodell wird installiert: {0}</translation>
    </message>
</context>
<context>
    <name>StopsField</name>
    <message>
        <source>At most {0} strings of {1} letters; nothing was changed.</source>
        <translation>Höchstens {0} Einträge zu {1} Zeichen; geändert wurde nichts.</translation>
    </message>
</context>
<context>
    <name>Storage</name>
    <message>
        <source>New conversation</source>
        <translation>Neue Unterhaltung</translation>
    </message>
    <message>
        <source>A deleted conversation</source>
        <translation>Eine gelöschte Unterhaltung</translation>
    </message>
    <message>
        <source>When the program ended there was no time to save the cache of “{0}”. The text is whole; the next reply reads it again.</source>
        <translation>Beim Beenden war keine Zeit, den Cache von „{0}“ zu speichern. Der Text ist vollständig; die nächste Antwort liest ihn neu.</translation>
    </message>
</context>
<context>
    <name>StoragePage</name>
    <message>
        <source>A saved cache lets a conversation go on without reading its text again. The text is kept in any case.</source>
        <translation>Mit einem gespeicherten Cache geht eine Unterhaltung weiter, ohne dass ihr Text neu gelesen wird. Der Text bleibt in jedem Fall erhalten.</translation>
    </message>
    <message>
        <source>Room for saved caches</source>
        <translation>Platz für gespeicherte Caches</translation>
    </message>
    <message>
        <source>When it is full, what was used longest ago goes first</source>
        <translation>Ist er voll, weicht zuerst, was am längsten nicht gebraucht wurde</translation>
    </message>
    <message>
        <source>Saved caches, the largest first</source>
        <translation>Gespeicherte Caches, die größten zuerst</translation>
    </message>
    <message>
        <source>Conversation</source>
        <translation>Unterhaltung</translation>
    </message>
    <message>
        <source>Scheme</source>
        <translation>Schema</translation>
    </message>
    <message>
        <source>Tokens</source>
        <translation>Token</translation>
    </message>
    <message>
        <source>Size</source>
        <translation>Größe</translation>
    </message>
    <message>
        <source>Loading</source>
        <translation>Laden</translation>
    </message>
    <message>
        <source>Reading again</source>
        <translation>Neu lesen</translation>
    </message>
    <message>
        <source>Measured when it was loaded last, else when it was saved</source>
        <translation>Gemessen beim letzten Laden, sonst beim Speichern</translation>
    </message>
    <message>
        <source>An estimate, from the speed at which the model last read a prompt</source>
        <translation>Eine Schätzung, nach dem Tempo, mit dem das Modell zuletzt einen Prompt las</translation>
    </message>
    <message>
        <source>Discard the cache, keep the text</source>
        <translation>Cache verwerfen, Text behalten</translation>
    </message>
    <message>
        <source>Discard all saved caches…</source>
        <translation>Alle gespeicherten Caches verwerfen …</translation>
    </message>
    <message>
        <source>about {0}</source>
        <translation>etwa {0}</translation>
    </message>
    <message numerus="yes">
        <source>%n saved cache(s), {0} of {1}</source>
        <translation>
            <numerusform>%n gespeicherter Cache, {0} von {1}</numerusform>
            <numerusform>%n gespeicherte Caches, {0} von {1}</numerusform>
        </translation>
    </message>
    <message>
        <source>Discard all saved caches?</source>
        <translation>Alle gespeicherten Caches verwerfen?</translation>
    </message>
    <message>
        <source>{0} become free. The text of every conversation is kept; going on with one reads it again first.</source>
        <translation>{0} werden frei. Der Text jeder Unterhaltung bleibt erhalten; geht eine weiter, wird er zuerst neu gelesen.</translation>
    </message>
    <message>
        <source>Discard all</source>
        <translation>Alle verwerfen</translation>
    </message>
    <message>
        <source>Undo</source>
        <translation>Rückgängig</translation>
    </message>
    <message numerus="yes">
        <source>%n cache(s), {0}</source>
        <translation>
            <numerusform>%n Cache, {0}</numerusform>
            <numerusform>%n Caches, {0}</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>SwitchField</name>
    <message>
        <source>On</source>
        <translation>An</translation>
    </message>
    <message>
        <source>Off</source>
        <translation>Aus</translation>
    </message>
</context>
<context>
    <name>Switching</name>
    <message>
        <source>The cache is changing to {0}</source>
        <translation>Der Cache wird auf {0} umgestellt</translation>
    </message>
    <message>
        <source>{0} after this reply</source>
        <translation>{0} nach dieser Antwort</translation>
    </message>
    <message>
        <source>Changing to {0}…</source>
        <translation>Wechsel zu {0} …</translation>
    </message>
    <message>
        <source>Rebuilding as {0}: {1} %</source>
        <translation>Neuaufbau als {0}: {1} %</translation>
    </message>
</context>
<context>
    <name>TextField</name>
    <message>
        <source>That is too long; nothing was changed.</source>
        <translation>Das ist zu lang; geändert wurde nichts.</translation>
    </message>
</context>
<context>
    <name>TextPane</name>
    <message>
        <source>Copy this code</source>
        <translation>Diesen Code kopieren</translation>
    </message>
</context>
<context>
    <name>ThinkingSection</name>
    <message>
        <source>Thoughts</source>
        <translation>Gedanken</translation>
    </message>
    <message>
        <source>Thinking…</source>
        <translation>Denkt nach …</translation>
    </message>
    <message>
        <source>Thinking… {0}</source>
        <translation>Denkt nach … {0}</translation>
    </message>
    <message>
        <source>Thoughts that were cut off</source>
        <translation>Abgebrochene Gedanken</translation>
    </message>
    <message>
        <source>Thought for about {0}</source>
        <translation>Etwa {0} nachgedacht</translation>
    </message>
    <message>
        <source>Thought for {0}</source>
        <translation>{0} nachgedacht</translation>
    </message>
    <message>
        <source>Show or hide what the model thought</source>
        <translation>Zeigen oder verbergen, was das Modell dachte</translation>
    </message>
    <message numerus="yes">
        <source>%Ln word(s)</source>
        <translation>
            <numerusform>%Ln Wort</numerusform>
            <numerusform>%Ln Wörter</numerusform>
        </translation>
    </message>
</context>
<context>
    <name>ToolBar</name>
    <message>
        <source>Window</source>
        <translation>Fenster</translation>
    </message>
    <message>
        <source>Menu</source>
        <translation>Menü</translation>
    </message>
</context>
<context>
    <name>Transcript</name>
    <message>
        <source>Transcript</source>
        <translation>Verlauf</translation>
    </message>
    <message>
        <source>To the newest text</source>
        <translation>Zum neuesten Text</translation>
    </message>
</context>
<context>
    <name>TroubleCard</name>
    <message>
        <source>Open the page</source>
        <translation>Seite öffnen</translation>
    </message>
    <message>
        <source>Account…</source>
        <translation>Konto …</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>Noch einmal versuchen</translation>
    </message>
</context>
<context>
    <name>UserBubble</name>
    <message>
        <source>You: {0}</source>
        <translation>Du: {0}</translation>
    </message>
    <message>
        <source>Your message</source>
        <translation>Deine Nachricht</translation>
    </message>
    <message>
        <source>Show all</source>
        <translation>Alles zeigen</translation>
    </message>
    <message>
        <source>Show less</source>
        <translation>Weniger zeigen</translation>
    </message>
</context>
<context>
    <name>Welcome</name>
    <message>
        <source>Chat with a model on this computer</source>
        <translation>Mit einem Modell auf diesem Rechner chatten</translation>
    </message>
    <message>
        <source>Nothing you write leaves it. Start with a small model (93 MB to download, works offline afterwards), find another on the Hugging Face hub, or add a folder that holds an MLX model.</source>
        <translation>Nichts Geschriebenes verlässt ihn. Mit einem kleinen Modell beginnen (93 MB Download, danach ohne Netz), ein anderes auf dem Hugging-Face-Hub finden oder einen Ordner mit einem MLX-Modell hinzufügen.</translation>
    </message>
    <message>
        <source>Install the starter model</source>
        <translation>Das Startmodell installieren</translation>
    </message>
    <message>
        <source>Find a model…</source>
        <translation>Ein Modell finden …</translation>
    </message>
    <message>
        <source>Add a folder…</source>
        <translation>Ordner hinzufügen …</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
</context>
<context>
    <name>Writing</name>
    <message>
        <source>This can&apos;t be saved, so it was not done ({0}). Make room on the disk and try again.</source>
        <translation>Das lässt sich nicht speichern und wurde deshalb nicht getan ({0}). Platz auf der Platte schaffen und noch einmal versuchen.</translation>
    </message>
    <message>
        <source>The disk can&apos;t be written ({0}). What is new is kept and written when it can be.</source>
        <translation>Die Platte ist nicht beschreibbar ({0}). Neues wird aufgehoben und geschrieben, sobald es geht.</translation>
    </message>
</context>
<context>
    <name>_Pending</name>
    <message>
        <source>Cancel</source>
        <translation>Abbrechen</translation>
    </message>
</context>
<context>
    <name>_Table</name>
    <message>
        <source>Memory by scheme and context</source>
        <translation>Speicher je Schema und Kontext</translation>
    </message>
    <message>
        <source>Scheme</source>
        <translation>Schema</translation>
    </message>
    <message>
        <source>Longest</source>
        <translation>Längster</translation>
    </message>
    <message>
        <source>Not even a short context fits in the memory that is free now</source>
        <translation>Nicht einmal ein kurzer Kontext passt in den jetzt freien Speicher</translation>
    </message>
    <message>
        <source>All that the model was trained for</source>
        <translation>Alles, wofür das Modell trainiert wurde</translation>
    </message>
    <message>
        <source>Weights {0}, work space {1}, cache {2}</source>
        <translation>Gewichte {0}, Arbeitsspeicher {1}, Cache {2}</translation>
    </message>
    <message>
        <source>More than this computer has for models</source>
        <translation>Mehr, als dieser Rechner für Modelle hat</translation>
    </message>
    <message>
        <source>More than is free now: close other programs first</source>
        <translation>Mehr, als jetzt frei ist: zuerst andere Programme schließen</translation>
    </message>
</context>
<context>
    <name>below</name>
    <message>
        <source>A classic of its size.</source>
        <translation>Ein Klassiker seiner Größe.</translation>
    </message>
    <message>
        <source>A file couldn&apos;t be written{0}: {1}.</source>
        <translation>Eine Datei konnte nicht geschrieben werden{0}: {1}.</translation>
    </message>
    <message>
        <source>A file of {0} isn&apos;t there any more.</source>
        <translation>Eine Datei von {0} gibt es nicht mehr.</translation>
    </message>
    <message>
        <source>A good start on a computer with 8 GB.</source>
        <translation>Ein guter Anfang auf einem Rechner mit 8 GB.</translation>
    </message>
    <message>
        <source>A head dimension of {0} can&apos;t be packed: even ones from {1} to {2} can.</source>
        <translation>Eine Head-Dimension von {0} lässt sich nicht packen, nur gerade von {1} bis {2}.</translation>
    </message>
    <message>
        <source>A name looks like owner/model.</source>
        <translation>Ein Name sieht aus wie Besitzer/Modell.</translation>
    </message>
    <message>
        <source>Accept the terms on its page, then enter a token in the preferences.</source>
        <translation>Den Bedingungen auf seiner Seite zustimmen, dann in den Einstellungen ein Token eingeben.</translation>
    </message>
    <message>
        <source>Accept them on its page, then try again.</source>
        <translation>Ihnen auf seiner Seite zustimmen, dann noch einmal versuchen.</translation>
    </message>
    <message>
        <source>Add &quot;max_position_embeddings&quot; to its config.json.</source>
        <translation>In seiner config.json „max_position_embeddings“ ergänzen.</translation>
    </message>
    <message>
        <source>As fast as a small model, as good as a large one; for 32 GB.</source>
        <translation>So schnell wie ein kleines Modell, so gut wie ein großes; für 32 GB.</translation>
    </message>
    <message>
        <source>Ask for the file again.</source>
        <translation>Um eine neue Kopie der Datei bitten.</translation>
    </message>
    <message>
        <source>Asking the hub…</source>
        <translation>Der Hub wird gefragt …</translation>
    </message>
    <message>
        <source>Attach a part of it.</source>
        <translation>Einen Teil davon anhängen.</translation>
    </message>
    <message>
        <source>Attach a text file.</source>
        <translation>Eine Textdatei anhängen.</translation>
    </message>
    <message>
        <source>Can think before it answers; many languages.</source>
        <translation>Kann vor der Antwort nachdenken; viele Sprachen.</translation>
    </message>
    <message>
        <source>Cancel it and download the present one.</source>
        <translation>Abbrechen und die jetzige herunterladen.</translation>
    </message>
    <message>
        <source>Check HTTPS_PROXY and HTTP_PROXY.</source>
        <translation>HTTPS_PROXY und HTTP_PROXY prüfen.</translation>
    </message>
    <message>
        <source>Check that the file is there, and that the disk isn&apos;t full.</source>
        <translation>Prüfen, ob die Datei da ist und ob die Platte Platz hat.</translation>
    </message>
    <message>
        <source>Check that the folder is yours, that its disk isn&apos;t full and that no other program holds the file.</source>
        <translation>Prüfen, ob der Ordner dir gehört, ob seine Platte Platz hat und ob kein anderes Programm die Datei festhält.</translation>
    </message>
    <message>
        <source>Check that you may open it.</source>
        <translation>Prüfen, ob sie geöffnet werden darf.</translation>
    </message>
    <message>
        <source>Check the name.</source>
        <translation>Den Namen prüfen.</translation>
    </message>
    <message>
        <source>Check the name; if it is private, enter a token in the preferences.</source>
        <translation>Den Namen prüfen; ist es privat, in den Einstellungen ein Token eingeben.</translation>
    </message>
    <message>
        <source>Check the network and the space on the disk, then try again.</source>
        <translation>Das Netz und den Platz auf der Platte prüfen, dann noch einmal versuchen.</translation>
    </message>
    <message>
        <source>Check the network, then try again. Behind a proxy, set HTTPS_PROXY.</source>
        <translation>Das Netz prüfen, dann noch einmal versuchen. Hinter einem Proxy HTTPS_PROXY setzen.</translation>
    </message>
    <message>
        <source>Checking the model</source>
        <translation>Das Modell wird geprüft</translation>
    </message>
    <message>
        <source>Choose a folder that holds an MLX model instead.</source>
        <translation>Stattdessen einen Ordner mit einem MLX-Modell wählen.</translation>
    </message>
    <message>
        <source>Choose a model first.</source>
        <translation>Zuerst ein Modell wählen.</translation>
    </message>
    <message>
        <source>Choose a smaller model.</source>
        <translation>Ein kleineres Modell wählen.</translation>
    </message>
    <message>
        <source>Choose another model.</source>
        <translation>Ein anderes Modell wählen.</translation>
    </message>
    <message>
        <source>Choose another place, or make room there.</source>
        <translation>Einen anderen Ort wählen oder dort Platz schaffen.</translation>
    </message>
    <message>
        <source>Choose the scheme {0}, limit conversations to {1} tokens, or choose a smaller model.</source>
        <translation>Das Schema {0} wählen, Unterhaltungen auf {1} Token begrenzen oder ein kleineres Modell wählen.</translation>
    </message>
    <message>
        <source>Choose the scheme {0}, or a smaller model.</source>
        <translation>Das Schema {0} oder ein kleineres Modell wählen.</translation>
    </message>
    <message>
        <source>Close other programs, or choose a smaller model.</source>
        <translation>Andere Programme schließen oder ein kleineres Modell wählen.</translation>
    </message>
    <message>
        <source>Conversation</source>
        <translation>Unterhaltung</translation>
    </message>
    <message>
        <source>Converting the model</source>
        <translation>Das Modell wird umgewandelt</translation>
    </message>
    <message>
        <source>Copy it again from the page that made it; it begins with hf_.</source>
        <translation>Es von der Seite, die es angelegt hat, noch einmal kopieren; es beginnt mit hf_.</translation>
    </message>
    <message>
        <source>Copy or download it again.</source>
        <translation>Noch einmal kopieren oder herunterladen.</translation>
    </message>
    <message>
        <source>Delete it yourself.</source>
        <translation>Sie von Hand löschen.</translation>
    </message>
    <message>
        <source>Download it again.</source>
        <translation>Noch einmal herunterladen.</translation>
    </message>
    <message>
        <source>Download it again: what is whole of it is kept.</source>
        <translation>Noch einmal herunterladen: was davon heil ist, bleibt.</translation>
    </message>
    <message>
        <source>Download or copy it again.</source>
        <translation>Noch einmal herunterladen oder kopieren.</translation>
    </message>
    <message>
        <source>Download the file again.</source>
        <translation>Die Datei noch einmal herunterladen.</translation>
    </message>
    <message>
        <source>Downloading the model</source>
        <translation>Das Modell wird heruntergeladen</translation>
    </message>
    <message>
        <source>Enter a token in the preferences.</source>
        <translation>In den Einstellungen ein Token eingeben.</translation>
    </message>
    <message>
        <source>Files of the architecture {0} can&apos;t be imported.</source>
        <translation>Dateien der Architektur {0} lassen sich nicht importieren.</translation>
    </message>
    <message>
        <source>Files with {0} can.</source>
        <translation>Möglich sind {0}.</translation>
    </message>
    <message>
        <source>Files with {0} scaling of rotary positions can&apos;t be imported.</source>
        <translation>Dateien mit der Positionsskalierung {0} lassen sich nicht importieren.</translation>
    </message>
    <message>
        <source>Fits for short conversations: up to {0} tokens with {1}.</source>
        <translation>Passt für kurze Unterhaltungen: bis zu {0} Token mit {1}.</translation>
    </message>
    <message>
        <source>Fits only when other programs give memory back: it takes at least {0}, and {1} are free now.</source>
        <translation>Passt nur, wenn andere Programme Speicher freigeben: Es braucht mindestens {0}, frei sind jetzt {1}.</translation>
    </message>
    <message>
        <source>Fits: the model takes {0}, and conversations can reach {1} tokens even without compression.</source>
        <translation>Passt: Das Modell braucht {0}, Unterhaltungen können schon ohne Kompression {1} Token lang werden.</translation>
    </message>
    <message>
        <source>Fits: the model takes {0}. Conversations can reach {1} tokens with {2}, {3} without compression.</source>
        <translation>Passt: Das Modell braucht {0}. Unterhaltungen können mit {2} {1} Token lang werden, ohne Kompression {3}.</translation>
    </message>
    <message>
        <source>For 24 GB and more.</source>
        <translation>Für 24 GB und mehr.</translation>
    </message>
    <message>
        <source>Give the token the permission to read gated repositories, or make another one.</source>
        <translation>Dem Token erlauben, zugangsbeschränkte Repositorys zu lesen, oder ein anderes anlegen.</translation>
    </message>
    <message>
        <source>If HF_ENDPOINT names a mirror, try without it.</source>
        <translation>Nennt HF_ENDPOINT einen Spiegel, ohne ihn versuchen.</translation>
    </message>
    <message>
        <source>If memory ran out, close other programs or choose a smaller model. {0}</source>
        <translation>Reichte der Speicher nicht, andere Programme schließen oder ein kleineres Modell wählen. {0}</translation>
    </message>
    <message>
        <source>If your network has a certificate of its own, set SSL_CERT_FILE to its file and start the program again.</source>
        <translation>Hat das Netz ein eigenes Zertifikat, SSL_CERT_FILE auf dessen Datei setzen und das Programm neu starten.</translation>
    </message>
    <message>
        <source>Import it: a copy is made that can be loaded.</source>
        <translation>Importieren: Es entsteht eine Kopie, die sich laden lässt.</translation>
    </message>
    <message>
        <source>Install that version again to read them.</source>
        <translation>Um sie zu lesen, jene Version wieder installieren.</translation>
    </message>
    <message>
        <source>It asks for a begin token and names none.</source>
        <translation>Es verlangt ein Anfangstoken und nennt keines.</translation>
    </message>
    <message>
        <source>It has no config.json.</source>
        <translation>Es hat keine config.json.</translation>
    </message>
    <message>
        <source>It has no config.json: it isn&apos;t a model for mlx-lm.</source>
        <translation>Es hat keine config.json: Es ist kein Modell für mlx-lm.</translation>
    </message>
    <message>
        <source>It holds GGUF files: download one of them and import it.</source>
        <translation>Es enthält GGUF-Dateien: eine davon herunterladen und importieren.</translation>
    </message>
    <message>
        <source>It holds no tokenizer.</source>
        <translation>Es enthält keinen Tokenizer.</translation>
    </message>
    <message>
        <source>It holds no weights that mlx-lm reads (model*.safetensors). Look for an MLX version of it.</source>
        <translation>Es enthält keine Gewichte, die mlx-lm liest (model*.safetensors). Nach einer MLX-Fassung davon suchen.</translation>
    </message>
    <message>
        <source>It is a base model, which continues a text and doesn&apos;t answer. For a conversation look for its instruction-tuned version, often named “Instruct” or “it”.</source>
        <translation>Es ist ein Basismodell: Es setzt einen Text fort und antwortet nicht. Zum Chatten die auf Anweisungen trainierte Fassung suchen, die oft „Instruct“ oder „it“ heißt.</translation>
    </message>
    <message>
        <source>It may have been moved or deleted: choose a model again.</source>
        <translation>Vielleicht wurde er verschoben oder gelöscht: ein Modell neu wählen.</translation>
    </message>
    <message>
        <source>It names no end token of its vocabulary, so a reply would never end.</source>
        <translation>Es nennt kein Endtoken aus seinem Vokabular: Eine Antwort würde nie enden.</translation>
    </message>
    <message>
        <source>It needs program code of its own, which is never run.</source>
        <translation>Es braucht eigenen Programmcode, und der wird nie ausgeführt.</translation>
    </message>
    <message>
        <source>Its config.json can&apos;t be read.</source>
        <translation>Seine config.json ist nicht zu lesen.</translation>
    </message>
    <message>
        <source>Its config.json is too large to be one.</source>
        <translation>Seine config.json ist zu groß, um eine zu sein.</translation>
    </message>
    <message>
        <source>Its config.json isn&apos;t an object.</source>
        <translation>Seine config.json ist kein Objekt.</translation>
    </message>
    <message>
        <source>Its config.json names no model_type.</source>
        <translation>Seine config.json nennt keinen model_type.</translation>
    </message>
    <message>
        <source>Its config.json or its list of weights can&apos;t be read.</source>
        <translation>Seine config.json oder die Liste seiner Gewichte ist nicht zu lesen.</translation>
    </message>
    <message>
        <source>Its config.json says that {0} is {1}.</source>
        <translation>Laut seiner config.json ist {0} gleich {1}.</translation>
    </message>
    <message>
        <source>Its download isn&apos;t finished.</source>
        <translation>Sein Download ist nicht abgeschlossen.</translation>
    </message>
    <message>
        <source>Its files may be damaged, or of a kind that mlx-lm doesn&apos;t know: download it again or choose another.</source>
        <translation>Vielleicht sind seine Dateien beschädigt oder von einer Art, die mlx-lm nicht kennt: noch einmal herunterladen oder ein anderes wählen.</translation>
    </message>
    <message>
        <source>Its heads don&apos;t divide its width, which a qwen2 can&apos;t have.</source>
        <translation>Seine Heads teilen seine Breite nicht, das gibt es bei einem qwen2 nicht.</translation>
    </message>
    <message>
        <source>Its keys and values have different widths, which a {0} can&apos;t have.</source>
        <translation>Seine Keys und Values sind verschieden breit, das gibt es bei einem {0} nicht.</translation>
    </message>
    <message>
        <source>Its logits are capped, which a gemma3 can&apos;t have.</source>
        <translation>Seine Logits sind begrenzt, das gibt es bei einem gemma3 nicht.</translation>
    </message>
    <message>
        <source>Its rotary positions are scaled in a way that can&apos;t be imported.</source>
        <translation>Seine Positionen sind auf eine Art skaliert, die sich nicht importieren lässt.</translation>
    </message>
    <message>
        <source>Its rotary positions are scaled in a way that no {0} is known for.</source>
        <translation>Seine Positionen sind auf eine Art skaliert, die von keinem {0} bekannt ist.</translation>
    </message>
    <message>
        <source>Its rotary positions cover a part of each head only, which can&apos;t be imported.</source>
        <translation>Seine Positionen betreffen nur einen Teil jedes Heads, das lässt sich nicht importieren.</translation>
    </message>
    <message>
        <source>Its tokenizer ({0}, {1}) can&apos;t be imported.</source>
        <translation>Sein Tokenizer ({0}, {1}) lässt sich nicht importieren.</translation>
    </message>
    <message>
        <source>Its tokenizer doesn&apos;t give texts back as they were.</source>
        <translation>Sein Tokenizer gibt Texte nicht so zurück, wie sie waren.</translation>
    </message>
    <message>
        <source>Its tokenizer is inconsistent.</source>
        <translation>Sein Tokenizer ist widersprüchlich.</translation>
    </message>
    <message>
        <source>Its tokenizer is inconsistent: its tokens aren&apos;t its vocabulary.</source>
        <translation>Sein Tokenizer ist widersprüchlich: Seine Token sind nicht sein Vokabular.</translation>
    </message>
    <message>
        <source>Its tokenizer is inconsistent: tokens and scores differ in number.</source>
        <translation>Sein Tokenizer ist widersprüchlich: Es gibt nicht so viele Token wie Bewertungen.</translation>
    </message>
    <message>
        <source>Its tokenizer is inconsistent: tokens of more than {0} characters, or none.</source>
        <translation>Sein Tokenizer ist widersprüchlich: Token mit mehr als {0} Zeichen oder ohne eines.</translation>
    </message>
    <message>
        <source>Its tokenizer is inconsistent: tokens repeat, or their number isn&apos;t the vocabulary&apos;s.</source>
        <translation>Sein Tokenizer ist widersprüchlich: Token kommen doppelt vor, oder ihre Zahl ist nicht die des Vokabulars.</translation>
    </message>
    <message>
        <source>Its weights are quantised in an unknown way ({0}).</source>
        <translation>Seine Gewichte sind auf eine unbekannte Art quantisiert ({0}).</translation>
    </message>
    <message>
        <source>Its weights are stored as {0}, which mlx-lm doesn&apos;t read.</source>
        <translation>Seine Gewichte sind als {0} gespeichert, das liest mlx-lm nicht.</translation>
    </message>
    <message>
        <source>Its weights are stored as {0}, which mlx-lm doesn&apos;t read. Look for an MLX version of it.</source>
        <translation>Seine Gewichte sind als {0} gespeichert, das liest mlx-lm nicht. Nach einer MLX-Fassung davon suchen.</translation>
    </message>
    <message>
        <source>Its {0} token, {1}, isn&apos;t in the vocabulary of {2}.</source>
        <translation>Sein {0}-Token, {1}, ist nicht im Vokabular von {2}.</translation>
    </message>
    <message>
        <source>Join them first: llama-gguf-split --merge.</source>
        <translation>Sie zuerst zusammenfügen: llama-gguf-split --merge.</translation>
    </message>
    <message>
        <source>Limit conversations to {0} tokens, or choose a smaller model.</source>
        <translation>Unterhaltungen auf {0} Token begrenzen oder ein kleineres Modell wählen.</translation>
    </message>
    <message>
        <source>MLX can&apos;t be loaded: {0}.</source>
        <translation>MLX lässt sich nicht laden: {0}.</translation>
    </message>
    <message>
        <source>Make a new one and enter it in the preferences.</source>
        <translation>Ein neues anlegen und in den Einstellungen eingeben.</translation>
    </message>
    <message>
        <source>Make it readable for you.</source>
        <translation>Leserechte dafür einrichten.</translation>
    </message>
    <message>
        <source>Make it readable, or copy it again.</source>
        <translation>Leserechte dafür einrichten oder noch einmal kopieren.</translation>
    </message>
    <message>
        <source>Make it writable for you, or set TURBOQUANT_HOME to a folder that is.</source>
        <translation>Schreibrechte dafür einrichten oder TURBOQUANT_HOME auf einen beschreibbaren Ordner setzen.</translation>
    </message>
    <message>
        <source>Make room on the disk of {0}, then go on; or set HF_HUB_CACHE to another disk.</source>
        <translation>Auf der Platte von {0} Platz schaffen, dann fortsetzen; oder HF_HUB_CACHE auf eine andere Platte setzen.</translation>
    </message>
    <message>
        <source>Make room or make the folder writable, then try again.</source>
        <translation>Platz schaffen oder Schreibrechte für den Ordner einrichten, dann noch einmal versuchen.</translation>
    </message>
    <message>
        <source>Make room, then go on; or cancel, which deletes what has come.</source>
        <translation>Platz schaffen, dann fortsetzen; oder abbrechen, das löscht, was schon da ist.</translation>
    </message>
    <message>
        <source>Make room, then try again.</source>
        <translation>Platz schaffen, dann noch einmal versuchen.</translation>
    </message>
    <message>
        <source>Make the folder writable for you and close what uses it.</source>
        <translation>Schreibrechte für den Ordner einrichten und schließen, was ihn benutzt.</translation>
    </message>
    <message>
        <source>Make the folder writable for you, then go on.</source>
        <translation>Schreibrechte für den Ordner einrichten, dann fortsetzen.</translation>
    </message>
    <message>
        <source>Make the folder writable, then enter it again.</source>
        <translation>Schreibrechte für den Ordner einrichten, dann noch einmal eingeben.</translation>
    </message>
    <message>
        <source>Mixture-of-experts {0} files can&apos;t be imported.</source>
        <translation>Mixture-of-Experts-Dateien ({0}) lassen sich nicht importieren.</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>Modell</translation>
    </message>
    <message>
        <source>Models of type {0} aren&apos;t known to mlx-lm.</source>
        <translation>Modelle vom Typ {0} kennt mlx-lm nicht.</translation>
    </message>
    <message>
        <source>Models of type {0} run on a Mac only.</source>
        <translation>Modelle vom Typ {0} laufen nur auf einem Mac.</translation>
    </message>
    <message>
        <source>Neither config.json nor the tokenizer of {0} says how long a conversation may get.</source>
        <translation>Weder config.json noch der Tokenizer von {0} sagt, wie lang eine Unterhaltung werden darf.</translation>
    </message>
    <message>
        <source>No model is loaded. Your message is kept.</source>
        <translation>Kein Modell ist geladen. Die Nachricht ist erhalten.</translation>
    </message>
    <message>
        <source>Offline mode is on, so the hub isn&apos;t asked.</source>
        <translation>Der Offline-Modus ist an, der Hub wird nicht gefragt.</translation>
    </message>
    <message>
        <source>Only text can be attached: export it as text first.</source>
        <translation>Nur Text lässt sich anhängen: sie zuerst als Text exportieren.</translation>
    </message>
    <message>
        <source>Rename the file, or delete that model first.</source>
        <translation>Die Datei umbenennen oder zuerst jenes Modell löschen.</translation>
    </message>
    <message>
        <source>Run `make run` again: it repairs the installation.</source>
        <translation>Noch einmal `make run` ausführen: das repariert die Installation.</translation>
    </message>
    <message>
        <source>Run the set-up again: it repairs this.</source>
        <translation>Die Einrichtung noch einmal ausführen: das repariert es.</translation>
    </message>
    <message>
        <source>See its page for the reason.</source>
        <translation>Den Grund nennt seine Seite.</translation>
    </message>
    <message>
        <source>SentencePiece and {0} can.</source>
        <translation>Möglich sind SentencePiece und {0}.</translation>
    </message>
    <message>
        <source>Small and quick; for simple questions.</source>
        <translation>Klein und schnell; für einfache Fragen.</translation>
    </message>
    <message>
        <source>Small and quick; long conversations take little memory.</source>
        <translation>Klein und schnell; lange Unterhaltungen brauchen wenig Speicher.</translation>
    </message>
    <message>
        <source>Small; can think before it answers.</source>
        <translation>Klein; kann vor der Antwort nachdenken.</translation>
    </message>
    <message>
        <source>Something went wrong in the program; nothing was changed.</source>
        <translation>Im Programm ging etwas schief; geändert wurde nichts.</translation>
    </message>
    <message>
        <source>Something went wrong with {0}; nothing was changed.</source>
        <translation>Mit {0} ging etwas schief; geändert wurde nichts.</translation>
    </message>
    <message>
        <source>Stopped.</source>
        <translation>Angehalten.</translation>
    </message>
    <message>
        <source>Strong for its size; for 16 GB and more.</source>
        <translation>Stark für seine Größe; für 16 GB und mehr.</translation>
    </message>
    <message>
        <source>System</source>
        <translation>System</translation>
    </message>
    <message>
        <source>Take it off the list, or delete it yourself.</source>
        <translation>Von der Liste nehmen oder von Hand löschen.</translation>
    </message>
    <message>
        <source>Take it off the list, or put it back.</source>
        <translation>Von der Liste nehmen oder zurücklegen.</translation>
    </message>
    <message>
        <source>That isn&apos;t a token: it holds spaces or letters that no token has. The one before is kept.</source>
        <translation>Das ist kein Token: Es enthält Leerzeichen oder Zeichen, die kein Token hat. Das bisherige bleibt.</translation>
    </message>
    <message>
        <source>The GPU kernel {0} doesn&apos;t serve here ({1}). The slower reference runs in its place.</source>
        <translation>Der GPU-Kernel {0} taugt hier nicht ({1}). An seiner Stelle läuft die langsamere Referenz.</translation>
    </message>
    <message>
        <source>The authors of {0} have refused access to your account.</source>
        <translation>Die Autoren von {0} haben dem Konto den Zugang verweigert.</translation>
    </message>
    <message>
        <source>The authors of {0} haven&apos;t answered your request for access yet.</source>
        <translation>Die Autoren von {0} haben über den beantragten Zugang noch nicht entschieden.</translation>
    </message>
    <message>
        <source>The certificate of {0} isn&apos;t trusted here: {1}.</source>
        <translation>Dem Zertifikat von {0} wird hier nicht vertraut: {1}.</translation>
    </message>
    <message>
        <source>The connection to {0} broke off.</source>
        <translation>Die Verbindung zu {0} brach ab.</translation>
    </message>
    <message>
        <source>The conversation can&apos;t be imported: {0}. Nothing was imported.</source>
        <translation>Die Unterhaltung lässt sich nicht importieren: {0}. Nichts wurde importiert.</translation>
    </message>
    <message>
        <source>The conversation is gone, so nothing was exported.</source>
        <translation>Die Unterhaltung gibt es nicht mehr, nichts wurde exportiert.</translation>
    </message>
    <message>
        <source>The conversation was written in format version {0}; this program reads version {1}. Nothing was imported.</source>
        <translation>Die Unterhaltung hat Formatversion {0}; dieses Programm liest Version {1}. Nichts wurde importiert.</translation>
    </message>
    <message>
        <source>The conversations in {0} can&apos;t be opened: {1}. They are untouched.</source>
        <translation>Die Unterhaltungen in {0} lassen sich nicht öffnen: {1}. Sie sind unberührt.</translation>
    </message>
    <message>
        <source>The conversations in {0} were written by a later version of this program. They are untouched.</source>
        <translation>Die Unterhaltungen in {0} stammen von einer neueren Version dieses Programms. Sie sind unberührt.</translation>
    </message>
    <message>
        <source>The disk is full{0}. What has come is kept.</source>
        <translation>Die Platte ist voll{0}. Was schon da ist, bleibt.</translation>
    </message>
    <message>
        <source>The downloaded model isn&apos;t the one this program was made for (its SHA-256 differs). It was not used.</source>
        <translation>Das heruntergeladene Modell ist nicht das, für das dieses Programm gemacht ist (sein SHA-256 weicht ab). Es wurde nicht verwendet.</translation>
    </message>
    <message>
        <source>The downloaded package {0} is damaged.</source>
        <translation>Das heruntergeladene Paket {0} ist beschädigt.</translation>
    </message>
    <message>
        <source>The engine met an error: {0}. What was said so far is kept.</source>
        <translation>Beim Rechnen trat ein Fehler auf: {0}. Was bisher gesagt wurde, ist erhalten.</translation>
    </message>
    <message>
        <source>The file can&apos;t be imported: {0}. Nothing was imported.</source>
        <translation>Die Datei lässt sich nicht importieren: {0}. Nichts wurde importiert.</translation>
    </message>
    <message>
        <source>The file has format version {0}; this program reads version {1}. Nothing was imported.</source>
        <translation>Die Datei hat Formatversion {0}; dieses Programm liest Version {1}. Nichts wurde importiert.</translation>
    </message>
    <message>
        <source>The file holds unknown tensors ({0}), so the model would be wrong.</source>
        <translation>Die Datei enthält unbekannte Tensoren ({0}), das Modell wäre falsch.</translation>
    </message>
    <message>
        <source>The file is cut short: the tensor {0} lies beyond its end.</source>
        <translation>Die Datei ist abgeschnitten: Der Tensor {0} liegt hinter ihrem Ende.</translation>
    </message>
    <message>
        <source>The file is too large for a conversation. Nothing was imported.</source>
        <translation>Die Datei ist zu groß für eine Unterhaltung. Nichts wurde importiert.</translation>
    </message>
    <message>
        <source>The file lacks tensors ({0}), so the model would be wrong.</source>
        <translation>Der Datei fehlen Tensoren ({0}), das Modell wäre falsch.</translation>
    </message>
    <message>
        <source>The file names {0} layers and holds {1} tensors.</source>
        <translation>Die Datei nennt {0} Schichten und enthält {1} Tensoren.</translation>
    </message>
    <message>
        <source>The file states an alignment of {0}.</source>
        <translation>Die Datei nennt eine Ausrichtung von {0}.</translation>
    </message>
    <message>
        <source>The file with the token couldn&apos;t be deleted: {0} ({1}).</source>
        <translation>Die Datei mit dem Token ließ sich nicht löschen: {0} ({1}).</translation>
    </message>
    <message>
        <source>The file with your conversations was damaged. {0} of them could be read and were copied to a new file; the old one is kept as {1}.</source>
        <translation>Die Datei mit den Unterhaltungen war beschädigt. {0} waren lesbar und wurden in eine neue Datei kopiert; die alte liegt noch als {1}.</translation>
    </message>
    <message>
        <source>The file&apos;s metadata can&apos;t be used: {0} is missing.</source>
        <translation>Die Metadaten der Datei sind nicht brauchbar: {0} fehlt.</translation>
    </message>
    <message>
        <source>The file&apos;s metadata can&apos;t be used: {0} is of type {1}, not {2}.</source>
        <translation>Die Metadaten der Datei sind nicht brauchbar: {0} ist vom Typ {1}, nicht {2}.</translation>
    </message>
    <message>
        <source>The file&apos;s metadata can&apos;t be used: {0} is {1}.</source>
        <translation>Die Metadaten der Datei sind nicht brauchbar: {0} ist {1}.</translation>
    </message>
    <message>
        <source>The file&apos;s metadata holds a list of an unknown kind ({0}).</source>
        <translation>Die Metadaten der Datei enthalten eine Liste unbekannter Art ({0}).</translation>
    </message>
    <message>
        <source>The file&apos;s metadata holds a value of an unknown kind ({0}).</source>
        <translation>Die Metadaten der Datei enthalten einen Wert unbekannter Art ({0}).</translation>
    </message>
    <message>
        <source>The folder {0} can&apos;t be made: {1}. Nothing was changed.</source>
        <translation>Der Ordner {0} lässt sich nicht anlegen: {1}. Geändert wurde nichts.</translation>
    </message>
    <message>
        <source>The hub doesn&apos;t accept the token: it is wrong, expired or was revoked.</source>
        <translation>Der Hub nimmt das Token nicht an: Es ist falsch, abgelaufen oder widerrufen.</translation>
    </message>
    <message>
        <source>The hub doesn&apos;t say which version of {0} it has.</source>
        <translation>Der Hub sagt nicht, welche Fassung von {0} er hat.</translation>
    </message>
    <message>
        <source>The hub has a problem of its own (HTTP {0}).</source>
        <translation>Der Hub hat selbst ein Problem (HTTP {0}).</translation>
    </message>
    <message>
        <source>The hub has no model {0}, or doesn&apos;t show it.</source>
        <translation>Der Hub hat kein Modell {0}, oder er zeigt es nicht.</translation>
    </message>
    <message>
        <source>The hub refused a request for {0} (HTTP {1}).</source>
        <translation>Der Hub lehnte eine Anfrage zu {0} ab (HTTP {1}).</translation>
    </message>
    <message>
        <source>The hub refuses access to {0}.</source>
        <translation>Der Hub verweigert den Zugang zu {0}.</translation>
    </message>
    <message>
        <source>The hub refuses access to {0}: {1}.</source>
        <translation>Der Hub verweigert den Zugang zu {0}: {1}.</translation>
    </message>
    <message>
        <source>The hub says neither size nor checksum of {0} in {1}, so it couldn&apos;t be verified.</source>
        <translation>Der Hub nennt weder Größe noch Prüfsumme von {0} in {1}: Die Datei ließe sich nicht prüfen.</translation>
    </message>
    <message>
        <source>The hub&apos;s list of the files of {0} can&apos;t be right: it has more than {1}.</source>
        <translation>Die Dateiliste des Hubs zu {0} kann nicht stimmen: Sie hat mehr als {1} Einträge.</translation>
    </message>
    <message>
        <source>The hub&apos;s list of the files of {0} can&apos;t be right: {1} is there twice.</source>
        <translation>Die Dateiliste des Hubs zu {0} kann nicht stimmen: {1} steht zweimal darin.</translation>
    </message>
    <message>
        <source>The hub&apos;s storage doesn&apos;t give a file of {0} (HTTP {1}).</source>
        <translation>Der Speicher des Hubs gibt eine Datei von {0} nicht heraus (HTTP {1}).</translation>
    </message>
    <message>
        <source>The keychain didn&apos;t let go of the token: it is still there.</source>
        <translation>Der Schlüsselbund gab das Token nicht her: Es ist noch da.</translation>
    </message>
    <message>
        <source>The log in {0} can&apos;t be written ({1}), so there is none this time.</source>
        <translation>Das Protokoll in {0} lässt sich nicht schreiben ({1}), diesmal gibt es keines.</translation>
    </message>
    <message>
        <source>The model couldn&apos;t be written to {0}: {1}. Nothing of it was kept.</source>
        <translation>Das Modell konnte nicht nach {0} geschrieben werden: {1}. Nichts davon blieb zurück.</translation>
    </message>
    <message>
        <source>The model takes {0} and the disk has {1} left. Nothing was written.</source>
        <translation>Das Modell braucht {0}, die Platte hat noch {1}. Nichts wurde geschrieben.</translation>
    </message>
    <message>
        <source>The model {0} can&apos;t run here. {1}</source>
        <translation>Das Modell {0} läuft hier nicht. {1}</translation>
    </message>
    <message>
        <source>The model {0} couldn&apos;t be loaded: {1}</source>
        <translation>Das Modell {0} konnte nicht geladen werden: {1}</translation>
    </message>
    <message>
        <source>The model {0} is damaged. {1} Your conversations are untouched.</source>
        <translation>Das Modell {0} ist beschädigt. {1} Die Unterhaltungen sind unberührt.</translation>
    </message>
    <message>
        <source>The model {0} is incomplete. {1} Your conversations are untouched.</source>
        <translation>Das Modell {0} ist unvollständig. {1} Die Unterhaltungen sind unberührt.</translation>
    </message>
    <message>
        <source>The model&apos;s chat template can&apos;t be used ({0}). A plain “User: … Assistant: …” dialogue is used instead; answers may suffer.</source>
        <translation>Die Chatvorlage des Modells ist nicht brauchbar ({0}). Stattdessen dient ein schlichter Dialog „User: … Assistant: …“; die Antworten können schlechter sein.</translation>
    </message>
    <message>
        <source>The model&apos;s chat template can&apos;t render this conversation. The text is kept.</source>
        <translation>Die Chatvorlage des Modells kommt mit dieser Unterhaltung nicht zurecht. Der Text ist erhalten.</translation>
    </message>
    <message>
        <source>The network may want a log-in first, or HF_ENDPOINT names something else.</source>
        <translation>Vielleicht verlangt das Netz erst eine Anmeldung, oder HF_ENDPOINT nennt etwas anderes.</translation>
    </message>
    <message>
        <source>The proxy refused the way to {0}: {1}.</source>
        <translation>Der Proxy verweigerte den Weg zu {0}: {1}.</translation>
    </message>
    <message>
        <source>The settings can&apos;t be read ({0}), so the defaults are used. The file {1} is untouched.</source>
        <translation>Die Einstellungen sind nicht zu lesen ({0}), es gelten die Vorgaben. Die Datei {1} ist unberührt.</translation>
    </message>
    <message>
        <source>The settings file was damaged, so the defaults are used. The old file is kept as {0}.</source>
        <translation>Die Datei der Einstellungen war beschädigt, es gelten die Vorgaben. Die alte liegt noch als {0}.</translation>
    </message>
    <message>
        <source>The settings file {0} is damaged and can&apos;t be set aside ({1}): the defaults are used, and changes aren&apos;t kept.</source>
        <translation>Die Datei der Einstellungen {0} ist beschädigt und lässt sich nicht beiseitelegen ({1}): Es gelten die Vorgaben, Änderungen werden nicht aufgehoben.</translation>
    </message>
    <message>
        <source>The settings were written by a later version of this program, so the defaults are used and changes aren&apos;t kept. The file {0} is untouched.</source>
        <translation>Die Einstellungen stammen von einer neueren Version dieses Programms: Es gelten die Vorgaben, Änderungen werden nicht aufgehoben. Die Datei {0} ist unberührt.</translation>
    </message>
    <message>
        <source>The starter model couldn&apos;t be downloaded: {0}</source>
        <translation>Das Startmodell konnte nicht heruntergeladen werden: {0}</translation>
    </message>
    <message>
        <source>The starter model couldn&apos;t be stored in {0}: {1}. Nothing of it was kept.</source>
        <translation>Das Startmodell konnte nicht in {0} abgelegt werden: {1}. Nichts davon blieb zurück.</translation>
    </message>
    <message>
        <source>The starter model is fetched with pip, which this program doesn&apos;t have.</source>
        <translation>Das Startmodell wird mit pip geholt, das dieses Programm nicht hat.</translation>
    </message>
    <message>
        <source>The starter model needs {0} for a moment and the disk has {1} left.</source>
        <translation>Das Startmodell braucht für einen Moment {0}, die Platte hat noch {1}.</translation>
    </message>
    <message>
        <source>The tensor {0} has the shape {1}, not {2}.</source>
        <translation>Der Tensor {0} hat die Form {1}, nicht {2}.</translation>
    </message>
    <message>
        <source>The tensor {0} has the type {1}, which can&apos;t be imported.</source>
        <translation>Der Tensor {0} hat den Typ {1}, der sich nicht importieren lässt.</translation>
    </message>
    <message>
        <source>The tensor {0} has {1} axes.</source>
        <translation>Der Tensor {0} hat {1} Achsen.</translation>
    </message>
    <message>
        <source>The tensor {0} holds values that aren&apos;t finite.</source>
        <translation>Der Tensor {0} enthält Werte, die nicht endlich sind.</translation>
    </message>
    <message>
        <source>The tensor {0} of shape {1} doesn&apos;t divide into blocks of {2}.</source>
        <translation>Der Tensor {0} der Form {1} lässt sich nicht in Blöcke zu {2} teilen.</translation>
    </message>
    <message>
        <source>The tensors {0} and {1} overlap.</source>
        <translation>Die Tensoren {0} und {1} überschneiden sich.</translation>
    </message>
    <message>
        <source>The token couldn&apos;t be kept: {0} ({1}).</source>
        <translation>Das Token konnte nicht abgelegt werden: {0} ({1}).</translation>
    </message>
    <message>
        <source>The token may not read {0}.</source>
        <translation>Das Token darf {0} nicht lesen.</translation>
    </message>
    <message>
        <source>The tokenizer is missing from {0}.</source>
        <translation>In {0} fehlt der Tokenizer.</translation>
    </message>
    <message>
        <source>The weight files in {0} hold no tensors.</source>
        <translation>Die Gewichtsdateien in {0} enthalten keine Tensoren.</translation>
    </message>
    <message>
        <source>There are no weights (model.safetensors) in {0}.</source>
        <translation>In {0} liegen keine Gewichte (model.safetensors).</translation>
    </message>
    <message>
        <source>There is no folder {0}.</source>
        <translation>Den Ordner {0} gibt es nicht.</translation>
    </message>
    <message>
        <source>There is nothing at {0} any more.</source>
        <translation>Unter {0} liegt nichts mehr.</translation>
    </message>
    <message>
        <source>There isn&apos;t room for {0}: {1} are still to come, and the disk has {2} left, of which {3} stay free. What has come is kept.</source>
        <translation>Für {0} reicht der Platz nicht: {1} fehlen noch, die Platte hat noch {2}, und davon bleiben {3} frei. Was schon da ist, bleibt.</translation>
    </message>
    <message>
        <source>These can: {0}.</source>
        <translation>Möglich sind: {0}.</translation>
    </message>
    <message>
        <source>Thinks at length, answers fast; for 24 GB and more.</source>
        <translation>Denkt gründlich nach, antwortet schnell; für 24 GB und mehr.</translation>
    </message>
    <message>
        <source>This GGUF file has version {0}; versions 2 and 3, little-endian, can be imported.</source>
        <translation>Diese GGUF-Datei hat Version {0}; importieren lassen sich die Versionen 2 und 3, Little-Endian.</translation>
    </message>
    <message>
        <source>This is a base model: it has no chat template and continues text rather than answering. A plain “User: … Assistant: …” dialogue is used. An instruction-tuned model, often named “Instruct” or “it”, answers better.</source>
        <translation>Das ist ein Basismodell: Es hat keine Chatvorlage und setzt Text fort, statt zu antworten. Es dient ein schlichter Dialog „User: … Assistant: …“. Ein auf Anweisungen trainiertes Modell, oft „Instruct“ oder „it“ genannt, antwortet besser.</translation>
    </message>
    <message>
        <source>This is one of {0} files that hold the model together.</source>
        <translation>Das ist eine von {0} Dateien, die das Modell zusammen enthalten.</translation>
    </message>
    <message>
        <source>This isn&apos;t a GGUF file: it doesn&apos;t begin with GGUF.</source>
        <translation>Das ist keine GGUF-Datei: Sie beginnt nicht mit GGUF.</translation>
    </message>
    <message>
        <source>This version of {0} isn&apos;t there any more.</source>
        <translation>Diese Fassung von {0} gibt es nicht mehr.</translation>
    </message>
    <message>
        <source>Thoughts</source>
        <translation>Gedanken</translation>
    </message>
    <message>
        <source>Too large for this computer: the model and a short conversation take {0}, and models can use {1} of its {2}.</source>
        <translation>Zu groß für diesen Rechner: Das Modell und eine kurze Unterhaltung brauchen {0}, Modelle können {1} von seinen {2} nutzen.</translation>
    </message>
    <message>
        <source>Too many requests: the hub asks to wait for {0} seconds.</source>
        <translation>Zu viele Anfragen: Der Hub bittet, {0} Sekunden zu warten.</translation>
    </message>
    <message>
        <source>Too many requests: the hub asks to wait.</source>
        <translation>Zu viele Anfragen: Der Hub bittet zu warten.</translation>
    </message>
    <message>
        <source>Try again later.</source>
        <translation>Später noch einmal versuchen.</translation>
    </message>
    <message>
        <source>Try again later; if it stays so, the model&apos;s files on the hub are broken.</source>
        <translation>Später noch einmal versuchen; bleibt es so, sind die Dateien des Modells auf dem Hub kaputt.</translation>
    </message>
    <message>
        <source>Try again when they have.</source>
        <translation>Danach noch einmal versuchen.</translation>
    </message>
    <message>
        <source>Try again.</source>
        <translation>Noch einmal versuchen.</translation>
    </message>
    <message>
        <source>Try again. If memory ran out, choose a smaller model or start a new conversation.</source>
        <translation>Noch einmal versuchen. Reichte der Speicher nicht, ein kleineres Modell wählen oder eine neue Unterhaltung beginnen.</translation>
    </message>
    <message>
        <source>Try again; if it happens again, the package index that pip uses serves another file.</source>
        <translation>Noch einmal versuchen; passiert es wieder, liefert der Paketindex, den pip nutzt, eine andere Datei.</translation>
    </message>
    <message>
        <source>Try another model.</source>
        <translation>Ein anderes Modell versuchen.</translation>
    </message>
    <message>
        <source>Trying again in {0} s: {1}</source>
        <translation>Neuer Versuch in {0} s: {1}</translation>
    </message>
    <message>
        <source>Two of its tensors have the same name.</source>
        <translation>Zwei ihrer Tensoren heißen gleich.</translation>
    </message>
    <message>
        <source>Unlock the keychain and try again, or delete its entry {0} yourself.</source>
        <translation>Den Schlüsselbund entsperren und noch einmal versuchen, oder seinen Eintrag {0} von Hand löschen.</translation>
    </message>
    <message>
        <source>Unset HF_HUB_OFFLINE and start the program again. Installed models work all the same.</source>
        <translation>HF_HUB_OFFLINE entfernen und das Programm neu starten. Installierte Modelle gehen auch so.</translation>
    </message>
    <message>
        <source>Update the program, and try again.</source>
        <translation>Das Programm aktualisieren und noch einmal versuchen.</translation>
    </message>
    <message>
        <source>Wait, then try again.</source>
        <translation>Warten, dann noch einmal versuchen.</translation>
    </message>
    <message>
        <source>Wait, then try again. With a token, the hub allows more.</source>
        <translation>Warten, dann noch einmal versuchen. Mit einem Token erlaubt der Hub mehr.</translation>
    </message>
    <message>
        <source>You</source>
        <translation>Du</translation>
    </message>
    <message>
        <source>Your account hasn&apos;t accepted the terms of {0}.</source>
        <translation>Das Konto hat den Bedingungen von {0} noch nicht zugestimmt.</translation>
    </message>
    <message>
        <source>a cache belongs to no message</source>
        <translation>ein Cache gehört zu keiner Nachricht</translation>
    </message>
    <message>
        <source>a file that only you can read ({0})</source>
        <translation>einer Datei, die nur du lesen kannst ({0})</translation>
    </message>
    <message>
        <source>a part hasn&apos;t the size that the manifest says</source>
        <translation>ein Teil hat nicht die Größe, die das Manifest nennt</translation>
    </message>
    <message>
        <source>a part is larger than it may be</source>
        <translation>ein Teil ist größer, als er sein darf</translation>
    </message>
    <message>
        <source>a part of it has another checksum than the manifest says: it is damaged</source>
        <translation>ein Teil hat eine andere Prüfsumme, als das Manifest nennt: sie ist beschädigt</translation>
    </message>
    <message>
        <source>a part of it is packed in a way that isn&apos;t known</source>
        <translation>ein Teil ist auf unbekannte Art gepackt</translation>
    </message>
    <message>
        <source>a sample isn&apos;t four values</source>
        <translation>ein Messwert besteht nicht aus vier Zahlen</translation>
    </message>
    <message>
        <source>a sliding window of {0} tokens: packed it would take no less</source>
        <translation>ein gleitendes Fenster von {0} Token: gepackt wäre es nicht kleiner</translation>
    </message>
    <message>
        <source>config.json in {0} can&apos;t be read.</source>
        <translation>config.json in {0} ist nicht zu lesen.</translation>
    </message>
    <message>
        <source>config.json in {0} isn&apos;t an object.</source>
        <translation>config.json in {0} ist kein Objekt.</translation>
    </message>
    <message>
        <source>config.json is missing from {0}.</source>
        <translation>In {0} fehlt config.json.</translation>
    </message>
    <message>
        <source>cut at the limit of tokens</source>
        <translation>an der Längengrenze beendet</translation>
    </message>
    <message>
        <source>failed</source>
        <translation>gescheitert</translation>
    </message>
    <message>
        <source>it has no manifest that can be read</source>
        <translation>sie hat kein lesbares Manifest</translation>
    </message>
    <message>
        <source>it holds something that doesn&apos;t belong there</source>
        <translation>sie enthält etwas, das nicht hineingehört</translation>
    </message>
    <message>
        <source>it holds something that is no file</source>
        <translation>sie enthält etwas, das keine Datei ist</translation>
    </message>
    <message>
        <source>it holds too many parts, or one twice</source>
        <translation>sie enthält zu viele Teile oder einen zweimal</translation>
    </message>
    <message>
        <source>it holds too many values</source>
        <translation>sie enthält zu viele Werte</translation>
    </message>
    <message>
        <source>it is damaged</source>
        <translation>er ist beschädigt</translation>
    </message>
    <message>
        <source>it is damaged or no {0} file ({1})</source>
        <translation>sie ist beschädigt oder keine {0}-Datei ({1})</translation>
    </message>
    <message>
        <source>it is larger than the room for saved caches</source>
        <translation>er ist größer als der Platz für gespeicherte Caches</translation>
    </message>
    <message>
        <source>it is nested too deep</source>
        <translation>sie ist zu tief verschachtelt</translation>
    </message>
    <message>
        <source>it isn&apos;t a conversation that this program wrote</source>
        <translation>dieses Programm hat sie nicht geschrieben</translation>
    </message>
    <message>
        <source>it isn&apos;t readable JSON ({0})</source>
        <translation>sie ist kein lesbares JSON ({0})</translation>
    </message>
    <message>
        <source>it isn&apos;t there</source>
        <translation>nicht vorhanden</translation>
    </message>
    <message>
        <source>it takes longer than {0} s</source>
        <translation>sie braucht länger als {0} s</translation>
    </message>
    <message>
        <source>it takes {0}, and all saved caches together may take {1}</source>
        <translation>er braucht {0}, und alle gespeicherten Caches zusammen dürfen {1} belegen</translation>
    </message>
    <message>
        <source>it was made by another model or another version of this program</source>
        <translation>er stammt von einem anderen Modell oder einer anderen Version dieses Programms</translation>
    </message>
    <message>
        <source>it was made by another model than the one that is loaded</source>
        <translation>er stammt von einem anderen Modell als dem geladenen</translation>
    </message>
    <message>
        <source>it writes nothing</source>
        <translation>sie schreibt nichts</translation>
    </message>
    <message>
        <source>its attention doesn&apos;t go through mlx-lm&apos;s shared function</source>
        <translation>ihre Attention läuft nicht über mlx-lms gemeinsame Funktion</translation>
    </message>
    <message>
        <source>its checksum is another one</source>
        <translation>ihre Prüfsumme ist eine andere</translation>
    </message>
    <message>
        <source>its list of parts is too long</source>
        <translation>ihre Liste der Teile ist zu lang</translation>
    </message>
    <message>
        <source>its manifest doesn&apos;t name what is in it</source>
        <translation>ihr Manifest nennt nicht, was sie enthält</translation>
    </message>
    <message>
        <source>its manifest doesn&apos;t say what each cache is</source>
        <translation>ihr Manifest sagt nicht, was jeder Cache ist</translation>
    </message>
    <message>
        <source>its manifest or its text is missing</source>
        <translation>ihr Manifest oder ihr Text fehlt</translation>
    </message>
    <message>
        <source>its manifest&apos;s “{0}” can&apos;t be read</source>
        <translation>„{0}“ in ihrem Manifest ist nicht zu lesen</translation>
    </message>
    <message>
        <source>its text is too long</source>
        <translation>ihr Text ist zu lang</translation>
    </message>
    <message>
        <source>its {0} is of a kind that stays raw</source>
        <translation>ihr {0} ist von einer Art, die unkomprimiert bleibt</translation>
    </message>
    <message>
        <source>keeps a recurrent state, no keys and values</source>
        <translation>hält einen rekurrenten Zustand, keine Keys und Values</translation>
    </message>
    <message>
        <source>keys stay uniform: half of {0} channels can&apos;t be rotated</source>
        <translation>Keys bleiben einheitlich: die Hälfte von {0} Kanälen lässt sich nicht rotieren</translation>
    </message>
    <message>
        <source>keys stay uniform: their channels matter too much alike</source>
        <translation>Keys bleiben einheitlich: ihre Kanäle sind fast gleich wichtig</translation>
    </message>
    <message>
        <source>keys stay uniform: too little is known of keys and queries</source>
        <translation>Keys bleiben einheitlich: über Keys und Queries ist zu wenig bekannt</translation>
    </message>
    <message>
        <source>mlx-lm can&apos;t build a model from its config.json.</source>
        <translation>Aus seiner config.json kann mlx-lm kein Modell bauen.</translation>
    </message>
    <message>
        <source>mlx-lm isn&apos;t installed.</source>
        <translation>mlx-lm ist nicht installiert.</translation>
    </message>
    <message>
        <source>more came than the hub has listed</source>
        <translation>es kam mehr an, als der Hub nennt</translation>
    </message>
    <message>
        <source>multi-head latent attention: the latents stay raw</source>
        <translation>Multi-Head Latent Attention: die Latents bleiben unkomprimiert</translation>
    </message>
    <message>
        <source>no model is loaded that could take it</source>
        <translation>kein Modell ist geladen, das ihn nehmen könnte</translation>
    </message>
    <message>
        <source>numba can&apos;t be used ({0}): decode attention runs on the slower reference backend.</source>
        <translation>numba ist nicht nutzbar ({0}): Die Antworten entstehen mit dem langsameren Referenz-Backend.</translation>
    </message>
    <message>
        <source>numba isn&apos;t installed: decode attention runs on the slower reference backend.</source>
        <translation>numba ist nicht installiert: Die Antworten entstehen mit dem langsameren Referenz-Backend.</translation>
    </message>
    <message>
        <source>one cache of several ({0}): stays raw</source>
        <translation>ein Cache aus mehreren ({0}): bleibt unkomprimiert</translation>
    </message>
    <message>
        <source>pip was stopped</source>
        <translation>pip wurde angehalten</translation>
    </message>
    <message>
        <source>stopped</source>
        <translation>angehalten</translation>
    </message>
    <message>
        <source>the connection ended early</source>
        <translation>die Verbindung endete zu früh</translation>
    </message>
    <message>
        <source>the disk is full</source>
        <translation>die Platte ist voll</translation>
    </message>
    <message>
        <source>the environment variable HF_TOKEN</source>
        <translation>der Umgebungsvariablen HF_TOKEN</translation>
    </message>
    <message>
        <source>the file</source>
        <translation>der Datei</translation>
    </message>
    <message>
        <source>the message before {0} isn&apos;t written before it</source>
        <translation>die Nachricht vor {0} steht nicht vor ihr</translation>
    </message>
    <message>
        <source>the model changes its keys and values between cache and attention</source>
        <translation>das Modell ändert Keys und Values zwischen Cache und Attention</translation>
    </message>
    <message>
        <source>the place where `hf auth login` puts it</source>
        <translation>der Ablage von `hf auth login`</translation>
    </message>
    <message>
        <source>the server&apos;s Content-Range makes no sense</source>
        <translation>der Content-Range des Servers ergibt keinen Sinn</translation>
    </message>
    <message>
        <source>the server&apos;s file has {0} bytes instead of {1}</source>
        <translation>die Datei des Servers hat {0} statt {1} Bytes</translation>
    </message>
    <message>
        <source>the server&apos;s file is shorter</source>
        <translation>die Datei des Servers ist kürzer</translation>
    </message>
    <message>
        <source>the system&apos;s keychain</source>
        <translation>dem Schlüsselbund des Systems</translation>
    </message>
    <message>
        <source>there was no time for it</source>
        <translation>dafür war keine Zeit</translation>
    </message>
    <message>
        <source>two messages are called {0}</source>
        <translation>zwei Nachrichten heißen {0}</translation>
    </message>
    <message>
        <source>you have no permission for it</source>
        <translation>die Berechtigung dafür fehlt</translation>
    </message>
    <message>
        <source>{0} (as float32)</source>
        <translation>{0} (als float32)</translation>
    </message>
    <message>
        <source>{0} answered something that isn&apos;t the hub&apos;s.</source>
        <translation>{0} antwortete etwas, das nicht vom Hub stammt.</translation>
    </message>
    <message>
        <source>{0} asks for an account, and no token is set.</source>
        <translation>{0} verlangt ein Konto, und es ist kein Token gesetzt.</translation>
    </message>
    <message>
        <source>{0} came damaged twice ({1}). It was deleted; the other files are kept.</source>
        <translation>{0} kam zweimal beschädigt an ({1}). Die Datei wurde gelöscht; die anderen bleiben.</translation>
    </message>
    <message>
        <source>{0} can only be downloaded with an account that has accepted its terms, and no token is set.</source>
        <translation>{0} lässt sich nur mit einem Konto herunterladen, das den Bedingungen zugestimmt hat, und es ist kein Token gesetzt.</translation>
    </message>
    <message>
        <source>{0} can&apos;t be imported: {1}. Nothing was imported.</source>
        <translation>{0} lässt sich nicht importieren: {1}. Nichts wurde importiert.</translation>
    </message>
    <message>
        <source>{0} can&apos;t be reached.</source>
        <translation>{0} ist nicht erreichbar.</translation>
    </message>
    <message>
        <source>{0} can&apos;t be read: {1}.</source>
        <translation>{0} ist nicht zu lesen: {1}.</translation>
    </message>
    <message>
        <source>{0} can&apos;t run here. {1} Its weights weren&apos;t downloaded.</source>
        <translation>{0} läuft hier nicht. {1} Seine Gewichte wurden nicht heruntergeladen.</translation>
    </message>
    <message>
        <source>{0} couldn&apos;t be deleted: {1}. All of it is still there.</source>
        <translation>{0} konnte nicht gelöscht werden: {1}. Alles davon ist noch da.</translation>
    </message>
    <message>
        <source>{0} didn&apos;t answer in time.</source>
        <translation>{0} hat nicht rechtzeitig geantwortet.</translation>
    </message>
    <message>
        <source>{0} exists already and was left as it is.</source>
        <translation>{0} gibt es schon und blieb, wie es ist.</translation>
    </message>
    <message>
        <source>{0} has become shorter while it was read.</source>
        <translation>{0} wurde kürzer, während es gelesen wurde.</translation>
    </message>
    <message>
        <source>{0} heads of {1} over {2} key/value heads can&apos;t be a {3}.</source>
        <translation>{0} Heads zu {1} über {2} Key/Value-Heads gibt es bei einem {3} nicht.</translation>
    </message>
    <message>
        <source>{0} in {1} can&apos;t be used.</source>
        <translation>{0} in {1} ist nicht brauchbar.</translation>
    </message>
    <message>
        <source>{0} is a folder of your own.</source>
        <translation>{0} ist ein eigener Ordner.</translation>
    </message>
    <message>
        <source>{0} is cut short or damaged.</source>
        <translation>{0} ist abgeschnitten oder beschädigt.</translation>
    </message>
    <message>
        <source>{0} is deleted, but for files that stayed in {1}: {2}.</source>
        <translation>{0} ist gelöscht, bis auf Dateien, die in {1} blieben: {2}.</translation>
    </message>
    <message>
        <source>{0} is empty.</source>
        <translation>{0} ist leer.</translation>
    </message>
    <message>
        <source>{0} is no file.</source>
        <translation>{0} ist keine Datei.</translation>
    </message>
    <message>
        <source>{0} is no file. Nothing was imported.</source>
        <translation>{0} ist keine Datei. Nichts wurde importiert.</translation>
    </message>
    <message>
        <source>{0} is too large: text files up to {1} MB can be attached.</source>
        <translation>{0} ist zu groß: Anhängen lassen sich Textdateien bis {1} MB.</translation>
    </message>
    <message>
        <source>{0} isn&apos;t a text file.</source>
        <translation>{0} ist keine Textdatei.</translation>
    </message>
    <message>
        <source>{0} isn&apos;t an object</source>
        <translation>{0} ist kein Objekt</translation>
    </message>
    <message>
        <source>{0} isn&apos;t as the hub has it.</source>
        <translation>{0} ist nicht so, wie der Hub es hat.</translation>
    </message>
    <message>
        <source>{0} lacks tensors that the index says it holds, first {1}.</source>
        <translation>In {0} fehlen Tensoren, die der Index nennt, zuerst {1}.</translation>
    </message>
    <message>
        <source>{0} of its {1} weight files aren&apos;t on the hub.</source>
        <translation>{0} seiner {1} Gewichtsdateien sind nicht auf dem Hub.</translation>
    </message>
    <message>
        <source>{0} of {1} layers stay uncompressed: {2}</source>
        <translation>{0} von {1} Schichten bleiben unkomprimiert: {2}</translation>
    </message>
    <message>
        <source>{0} of {1} weight files are missing, first {2}.</source>
        <translation>{0} von {1} Gewichtsdateien fehlen, zuerst {2}.</translation>
    </message>
    <message>
        <source>{0} wasn&apos;t loaded: with {2} tokens of conversation under {4} it takes {1}, and {3} of memory are free.</source>
        <translation>{0} wurde nicht geladen: Mit {2} Token Unterhaltung unter {4} braucht es {1}, und {3} Speicher sind frei.</translation>
    </message>
    <message>
        <source>{0} wasn&apos;t loaded: with {2} uncompressed tokens of conversation it takes {1}, and {3} of memory are free.</source>
        <translation>{0} wurde nicht geladen: Mit {2} unkomprimierten Token Unterhaltung braucht es {1}, und {3} Speicher sind frei.</translation>
    </message>
    <message>
        <source>“{0}” can&apos;t be exported to {1}: {2}. Nothing was written.</source>
        <translation>„{0}“ lässt sich nicht nach {1} exportieren: {2}. Nichts wurde geschrieben.</translation>
    </message>
    <message>
        <source>“{0}” has more than {1} entries</source>
        <translation>„{0}“ hat mehr als {1} Einträge</translation>
    </message>
    <message>
        <source>“{0}” in {1} is no time</source>
        <translation>„{0}“ in {1} ist keine Zeit</translation>
    </message>
    <message>
        <source>“{0}” in {1} is {2}</source>
        <translation>„{0}“ in {1} ist {2}</translation>
    </message>
    <message>
        <source>“{0}” is missing</source>
        <translation>„{0}“ fehlt</translation>
    </message>
    <message>
        <source>“{0}” isn&apos;t a name of a model on the hub.</source>
        <translation>„{0}“ ist kein Name eines Modells auf dem Hub.</translation>
    </message>
    <message>
        <source>There isn&apos;t room for {0}: {1} are still to come, and when other downloads are complete, the disk has {2} left, of which {3} stay free. What has come is kept.</source>
        <translation>Für {0} reicht der Platz nicht: {1} fehlen noch, nach den anderen Downloads hat die Platte noch {2}, und davon bleiben {3} frei. Was schon da ist, bleibt.</translation>
    </message>
    <message>
        <source>another program holds it</source>
        <translation>ein anderes Programm hält sie fest</translation>
    </message>
    <message>
        <source>it is write-protected</source>
        <translation>schreibgeschützt</translation>
    </message>
    <message>
        <source>TurboQuant Chat is running already, and its window doesn&apos;t answer.</source>
        <translation>TurboQuant Chat läuft schon, doch das Fenster antwortet nicht.</translation>
    </message>
    <message>
        <source>Wait a little and start it again; or end the one that runs, then start it again.</source>
        <translation>Warten Sie etwas und starten Sie es noch einmal; oder beenden Sie das laufende und starten Sie es dann.</translation>
    </message>
</context>
<context>
    <name>formats</name>
    <message>
        <source>d MMM yyyy</source>
        <comment>a date: Qt&apos;s letters for day, month and year</comment>
        <translation>d. MMM yyyy</translation>
    </message>
</context>
</TS>
