"""Socket.IO 5 over Engine.IO 4: the protocol is Flask-SocketIO's, the subscription is ours.

    CONNECT from the client -> the `connect` handler reads auth and may refuse           connect_request.py
    CONNECT to the client   -> carries `position` and `pid`    (our packet class)        library.py
    directly after it       -> subscribe, replay, then live    (our client manager)      transport.py, connections.py

All of it uses the library's documented extension points: `json`, `serializer`, `client_manager`.
"""
