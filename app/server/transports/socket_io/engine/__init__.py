"""Engine.IO 4 below Socket.IO: sessions, packets, timers, polling and WebSocket."""
