"""Socket.IO 5 over Engine.IO 4, by Flask-SocketIO: the protocol is the library's, the subscription is ours.

    CONNECT from the client -> `connect` handler reads auth and may refuse           connect_request.py
    CONNECT from the server -> carries `position` and `pid`  (our packet class)      library.py
    directly behind it      -> subscribe, replay, then live  (our client manager)    transport.py, connections.py

The library's documented extension points carry all of it: `json`, `serializer`, `client_manager`.
"""
