"""What every room of the window uses: theme, cards, dialogs, figures in words, menus' actions."""
