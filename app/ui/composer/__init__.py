"""Where a message is typed: text, attached files, drafts at hand."""
