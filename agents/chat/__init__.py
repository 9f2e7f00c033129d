"""Language models as players, through the usual chat-completions interface of servers."""
