"""The WSGI entry point: `gunicorn wsgi:app`, `flask --app wsgi run`.

It does not patch the standard library, which is left to the worker (app/server/wsgi/eventlet_worker.py). Without one of
our workers, real threads are used.
"""

from app.server.factory import create_app

app = create_app()
