"""Wire formats without sockets: SSE, WebSocket, Engine.IO and Socket.IO packets, HTTP/1.1 responses, DEFLATE.

Bytes in, values out, and back. Imports `core` only.
"""
