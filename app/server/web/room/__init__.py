"""Views of the room: participants, phases, the big screen and its downloads."""
