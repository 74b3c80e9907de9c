"""The WSGI entry point: `gunicorn wsgi:app`, `flask --app wsgi run`.

It never patches the standard library: that is the worker's business (app/server/wsgi/eventlet_worker.py). Without a
worker of ours, threads are used.
"""

from app.server.factory import create_app

app = create_app()
