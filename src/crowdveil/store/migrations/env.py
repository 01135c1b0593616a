"""How alembic runs a migration here: on the connection, and in the transaction, that `database` hands in."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
