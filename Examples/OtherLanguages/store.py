# Migrates a store whose key is in the secret store: python3 store.py
import sys

from migrationkit import Error, Key, Store

store = Store("notes.db", key=Key.secret_service("com.example.Notes", "notes"))
try:
    store.migrate("migrations", on_progress=print)
except Error as error:
    if error.code != "databaseCanBeDowngraded":
        sys.exit(str(error))
    # A newer version was here. What only it knows would be lost: a person decides.
    print(error)
    for loss in store.run("downgrade", "--migrations", "migrations", "--dry-run")["losses"]:
        print("would be lost:", loss["kind"], loss["table"], loss.get("column", ""), loss["rows"])
    if input("Take the newer version's changes back? ") != "yes":
        sys.exit("Nothing has changed.")
    report = store.run("downgrade", "--migrations", "migrations", "--yes")
    print("What was there is in the copy", report["backup"])
