"""Views that publish notifications, serve the event stream and report receipts."""
