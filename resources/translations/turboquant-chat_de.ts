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
        <source>Take off the top</source>
        <translation>Nicht mehr anheften</translation>
    </message>
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
</context>
<context>
    <name>CacheView</name>
    <message>
        <source>The saved cache of this conversation can&apos;t be used: {0} The text is whole; the next reply rebuilds it.</source>
        <translation>Der gespeicherte Cache dieser Unterhaltung ist nicht zu gebrauchen: {0} Der Text ist vollständig; die nächste Antwort baut ihn neu auf.</translation>
    </message>
    <message>
        <source>The cache of a conversation can&apos;t be saved: {0}. The text is whole; it is tried again after the next reply and when the program ends.</source>
        <translation>Der Cache einer Unterhaltung kann nicht gespeichert werden: {0}. Der Text ist vollständig; nach der nächsten Antwort und beim Beenden wird es wieder versucht.</translation>
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
        <source>Encoded from what the cache still held exactly.</source>
        <translation>Gepackt aus dem, was der Cache noch genau enthielt.</translation>
    </message>
    <message>
        <source>requantised in {0}</source>
        <translation>neu quantisiert in {0}</translation>
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
</context>
<context>
    <name>Chip</name>
    <message>
        <source>Take {0} away</source>
        <translation>{0} wegnehmen</translation>
    </message>
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
        <source>Take it away</source>
        <translation>Wegnehmen</translation>
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
        <source>Take it off this list</source>
        <translation>Von dieser Liste nehmen</translation>
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
        <source>{0} layers kept in fp16</source>
        <translation>{0} Schichten bleiben in fp16</translation>
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
        <source>All {0} tokens are still raw</source>
        <translation>Alle {0} Token sind noch roh</translation>
    </message>
    <message>
        <source>{0} first tokens and {1} pending stay raw</source>
        <translation>Die ersten {0} Token und {1} wartende bleiben roh</translation>
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
        <source>As the system</source>
        <translation>Wie das System</translation>
    </message>
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
        <source>Scheme of new conversations</source>
        <translation>Schema neuer Unterhaltungen</translation>
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
        <source>As the last new one</source>
        <translation>Wie bei der letzten neuen</translation>
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
        <source>Who the model is and how it answers. Another one makes it read the conversation again.</source>
        <translation>Wer das Modell ist und wie es antwortet. Mit einer anderen liest es die Unterhaltung von vorn.</translation>
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
        <source>Runs with this program&apos;s mlx-lm</source>
        <translation>Läuft mit dem mlx-lm dieses Programms</translation>
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
        <source>Take off the list</source>
        <translation>Von der Liste nehmen</translation>
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
        <source>Take “{0}” off the list</source>
        <translation>„{0}“ von der Liste nehmen</translation>
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
        <source>raw while reading the prompt</source>
        <translation>roh, während der Prompt gelesen wird</translation>
    </message>
    <message>
        <source>all tokens still raw</source>
        <translation>alle Token noch roh</translation>
    </message>
    <message>
        <source>measured</source>
        <translation>gemessen</translation>
    </message>
    <message>
        <source>predicted</source>
        <translation>vorhergesagt</translation>
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
        <source>Tokens in the cache, of those that the model was trained for</source>
        <translation>Token im Cache, von denen, für die das Modell trainiert wurde</translation>
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
        <source>What the saved cache spares: an estimate of how long reading the whole text again would take, from the speed at which this model last read a prompt</source>
        <translation>Was der gespeicherte Cache erspart: eine Schätzung, wie lange es dauern würde, den ganzen Text noch einmal zu lesen, nach dem Tempo, mit dem dieses Modell zuletzt einen Prompt las</translation>
    </message>
    <message>
        <source>Prefill peak</source>
        <translation>Lesespitze</translation>
    </message>
    <message>
        <source>The most that MLX held while the last prompt was read (above what it held afterwards)</source>
        <translation>Das Meiste, was MLX hielt, während der letzte Prompt gelesen wurde (über dem, was es danach hielt)</translation>
    </message>
    <message>
        <source>Discard the saved cache, keep the text</source>
        <translation>Gespeicherten Cache verwerfen, Text behalten</translation>
    </message>
    <message>
        <source>nothing cached yet</source>
        <translation>noch nichts im Cache</translation>
    </message>
    <message>
        <source>all {0} tokens still raw</source>
        <translation>alle {0} Token noch roh</translation>
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
    <message numerus="yes">
        <source>after %n minutes</source>
        <translation>
            <numerusform>nach %n Minute</numerusform>
            <numerusform>nach %n Minuten</numerusform>
        </translation>
    </message>
    <message>
        <source>never</source>
        <translation>nie</translation>
    </message>
    <message>
        <source>Its memory goes back to other programs; the next message loads it again.</source>
        <translation>Sein Speicher steht dann anderen Programmen offen; die nächste Nachricht lädt es wieder.</translation>
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
        <source>Try again</source>
        <translation>Noch einmal versuchen</translation>
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
        <source>all {0} tokens still raw</source>
        <translation>alle {0} Token noch roh</translation>
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
        <source>A whole number from 0 to {0}; what was there before holds.</source>
        <translation>Eine ganze Zahl von 0 bis {0}; es gilt weiter, was vorher da war.</translation>
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
        <source>Take off the top</source>
        <translation>Nicht mehr anheften</translation>
    </message>
    <message>
        <source>Pin to the top</source>
        <translation>Oben anheften</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>Löschen</translation>
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
        <source>At most {0} strings of {1} letters; what was there before holds.</source>
        <translation>Höchstens {0} Einträge zu {1} Zeichen; es gilt weiter, was vorher da war.</translation>
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
    <message numerus="yes">
        <source>%n version(s)</source>
        <translation>
            <numerusform>%n Fassung</numerusform>
            <numerusform>%n Fassungen</numerusform>
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
        <source>That is too long; what was there before holds.</source>
        <translation>Das ist zu lang; es gilt weiter, was vorher da war.</translation>
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
    <name>formats</name>
    <message>
        <source>d MMM yyyy</source>
        <comment>a date: Qt&apos;s letters for day, month and year</comment>
        <translation>d. MMM yyyy</translation>
    </message>
</context>
</TS>
