extension Explanation {
    /// Every heading, in the page's order.
    static let all: [Explanation] =
        keys + damage + access + constraints + statements + secretService

    // MARK: - Keys

    private static let keys: [Explanation] = [
        Explanation(
            message: "file is not a database",
            alike: [
                "file is encrypted or is not a database", "SQLite error 26", "SQLITE_NOTADB",
                "hmac check failed for pgno=1", "the key does not open",
            ],
            results: [(26, "SQLITE_NOTADB")],
            codes: [
                "wrongKey", "encrypted", "plaintext", "notADatabase", "notPlaintext", "notAKeyFile",
            ],
            meaning: """
                The first page can't be read. SQLite says so of any file that doesn't begin as a \
                database does, and an encrypted one looks like random bytes without its key. \
                SQLCipher logs "hmac check failed for pgno=1" at the same moment: the key, or how \
                it is used, is not that of the file. Neither can tell a wrong key from a file that \
                is no database.
                """,
            causes: [
                """
                The key is another one, has a line feed or a space at its end, or was given after \
                the first statement. PRAGMA key must come first.
                """,
                """
                The key is a raw one (64 hexadecimal digits), and was given as a passphrase, or \
                the other way round.
                """,
                """
                The file is of an older SQLCipher: 4 can't read files of 1, 2 and 3 without \
                cipher_compatibility.
                """,
                """
                The file is plaintext, and a key was given; or it is encrypted, and was opened \
                with SQLite.
                """,
                "The program is linked with SQLite instead of SQLCipher. It ignores PRAGMA key.",
                "A second database was attached without its own KEY.",
                "The file is no database: a download's error page, or a Git LFS pointer.",
                "The first page is damaged. With the right key, SQLCipher says the same.",
            ],
            next: [
                .init("inspect notes.db", "says what the file is, without a key"),
                .init(
                    "key check notes.db",
                    "tries a key with the settings of SQLCipher's versions and of programs, and names damaged pages"
                ),
                .init("key find notes.db", "searches the secret store for the key"),
                .init("key find notes.db --key-file keys", "tries the keys of a file"),
                .init("upgrade notes.db", "converts a file of SQLCipher 1, 2 or 3"),
            ],
            pages: ["Keys.md#finding-a-key", "DamagedFiles.md#what-a-file-is-inspect"]
        ),
        Explanation(
            message: "the file is in the format of SQLCipher 3",
            alike: [
                "PRAGMA cipher_migrate", "cipher_compatibility", "is in the format of SQLCipher",
            ],
            codes: [
                "olderFormat", "otherSettings", "multipleCiphers", "plaintextHeader",
                "alreadyCurrent", "unknownCipherSettings",
            ],
            meaning: """
                The key is right, and the file was made with other settings than SQLCipher 4's: \
                another number of iterations, another hash, another page size, or a plaintext \
                header.
                """,
            causes: [
                "The app was built with an older SQLCipher when the file was made.",
                "The app sets cipher_default_compatibility, or kdf_iter and others by itself.",
                "An app for Apple's systems keeps the first 32 bytes as plaintext.",
                "The app set SQLCipher 3 to another cipher than AES-256. Only SQLCipher 3 exports the file.",
            ],
            next: [
                .init(
                    "key check notes.db",
                    "searches for the settings that open it, those of programs included"
                ),
                .init(
                    "upgrade notes.db",
                    "converts it, and compares the copy with the old file first"
                ),
                .init(
                    "status notes.db --cipher-compatibility 3",
                    "opens it as it is; every command has that option"
                ),
            ],
            pages: ["Encrypting.md", "Keys.md#cipher-settings"]
        ),
        Explanation(
            message: "no key that opens the database was found",
            alike: ["lost key", "forgot password", "forgotten passphrase", "recover password"],
            codes: [
                "noKeyOpens", "keyNotFound", "keyAmbiguous", "databaseHasKey", "neitherKeyOpens",
                "rotationUnfinished", "notStored", "formerKey", "oldKeyStillNeeded", "noUsableKey",
            ],
            meaning: """
                An encrypted database can't be read without its key, and nobody can reset it. But \
                keys are seldom lost: they are under another name, in another keyring, in a backup \
                or on paper.
                """,
            causes: [
                "The keyring was replaced, or made anew after its password was changed.",
                "The database was copied to another machine, and its key wasn't.",
                """
                A rotation of the key was interrupted: the database has the new key, which is \
                stored under its pending name.
                """,
                "A backup has the key of its day.",
            ],
            next: [
                .init(
                    "key find notes.db",
                    "tries every key of the secret store, pending and previous ones too"
                ),
                .init("key find notes.db --key-file FOLDER", "tries the files of a folder"),
                .init(
                    """
                    A backup of the home has the old keyring. Start a secret store on it, beside \
                    today's, and search there, as the documentation shows.
                    """
                ),
                .init(
                    "key import COPY",
                    "stores the key of a recovery copy that 'key export' has made"
                ),
                .init("key doctor", "says what is wrong with the secret store"),
            ],
            pages: ["Keys.md#losing-a-key", "Keys.md#a-keyring-from-a-backup"]
        ),
        Explanation(
            message: "no key was given",
            alike: ["no key source", "key is empty"],
            codes: [
                "noKey", "noNewKey", "severalKeySources", "emptyKey", "unusableKey", "keyTooLarge",
                "keyForPlaintext", "passwordCommandFailed", "keyHelperFailed", "keyRefused",
                "keyHelperTimedOut", "keyFileOpenToOthers", "keyFileOfAnother", "keyFileIsLink",
                "keyPermissionDenied", "noSuchKeyFile", "keyUnreadable", "unusableKeySource",
            ],
            meaning: """
                The key of the database comes from one source: the secret store, a file, a \
                descriptor, a command, a systemd credential, the environment, or a question on the \
                terminal. It is taken from nowhere else, and never guessed.
                """,
            causes: [
                "A service or a CI job has no terminal, and no source was named.",
                "The file of the key is readable by others: it must have mode 600.",
                "Two sources were named, in the settings file and on the command line.",
            ],
            next: [
                .init(
                    "status notes.db --keychain-service com.example.Notes --keychain-account notes",
                    "takes it from the secret store"
                ),
                .init(
                    "status notes.db --password-file FILE",
                    "takes it from a file; add --raw-key for a raw key"
                ),
                .init(
                    "status --show-settings",
                    "shows where the key would come from, and opens nothing"
                ),
            ],
            pages: ["Keys.md#where-the-tool-finds-a-key"]
        ),
    ]

    // MARK: - Damage

    private static let damage: [Explanation] = [
        Explanation(
            message: "database disk image is malformed",
            alike: [
                "malformed database schema", "hmac check failed for pgno=", "SQLITE_CORRUPT",
                "SQLite error 11",
                "database corruption", "btreeInitPage", "Rowid out of order",
                "wrong # of entries in index",
                "row missing from index", "invalid page number",
            ],
            results: [(11, "SQLITE_CORRUPT")],
            codes: [
                "damaged", "damagedLog", "otherJournal", "verificationFailed", "copyDiffers",
                "copyIsDamaged",
                "incomplete",
                "backupFailed",
            ],
            meaning: """
                The key is right, and something in the file is not: a page whose HMAC doesn't fit, \
                a tree that leads nowhere, or an index that doesn't match its table.
                """,
            causes: [
                "The file was copied while a program wrote to it, or without its -wal file.",
                "A -wal or -journal file of another database lies beside it, or was deleted.",
                "Two programs used it over a network file system whose locks don't work.",
                """
                The disk or the memory has a fault, or the disk was full under a program that \
                ignores it.
                """,
            ],
            next: [
                .init(
                    """
                    Copy the file, its -wal and its -journal first. Don't run VACUUM or REINDEX.
                    """
                ),
                .init("verify --full notes.db", "names each damaged page, table and row"),
                .init(
                    "restore --from BACKUP --db-path notes.db --keep-original notes.damaged.db",
                    "puts a backup in its place, and keeps the damaged file"
                ),
                .init(
                    "salvage notes.db --output new.db",
                    "gets out what can be read, and lists what is lost"
                ),
            ],
            pages: ["DamagedFiles.md", "BackingUp.md"]
        ),
        Explanation(
            message: "unsupported file format",
            alike: ["requires a newer SQLite", "unknown file format", "near \"STRICT\""],
            results: [(24, "SQLITE_FORMAT")],
            codes: ["newerFormat", "noSQLCipher", "unusableExtension"],
            meaning: """
                The file is whole, but needs a newer SQLite than the one that this program has.
                """,
            causes: [
                "Another program with a newer SQLite has written it.",
                "A table, an index or a view uses what this SQLite doesn't know.",
            ],
            next: [
                .init(
                    "--version",
                    "says which SQLite and SQLCipher this tool has, and their known faults"
                ),
                .init("inspect notes.db", "shows the file's format"),
            ]
        ),
    ]

    // MARK: - Access

    private static let access: [Explanation] = [
        Explanation(
            message: "database is locked",
            alike: [
                "database table is locked", "database schema is locked", "SQLITE_BUSY",
                "SQLITE_LOCKED",
                "SQLite error 5", "SQLite error 6", "locking protocol",
            ],
            results: [(5, "SQLITE_BUSY"), (6, "SQLITE_LOCKED"), (15, "SQLITE_PROTOCOL")],
            codes: [
                "locked", "inUse", "oldFileInUse", "changedMeanwhile", "replacedMeanwhile",
                "logStaysFull",
                "promptBusy",
            ],
            meaning: """
                Another connection has the database, and the time to wait for it is over. In \
                SQLite, one connection writes at a time.
                """,
            causes: [
                """
                Another process, or a second connection of the same program, has a transaction \
                open.
                """,
                "A connection has no busy timeout: SQLite then fails at once.",
                """
                A transaction began by reading and goes on to write, while another one writes: \
                that fails at once, whatever the timeout is. BEGIN IMMEDIATE avoids it.
                """,
                "A program was stopped (Ctrl-Z, a debugger) in the middle of a transaction.",
            ],
            next: [
                .init("inspect notes.db", "names the programs that have it open, and its journals"),
                .init(
                    """
                    In your program, set a busy timeout (PRAGMA busy_timeout = 5000), and begin what \
                    writes with BEGIN IMMEDIATE.
                    """
                ),
                .init(
                    "migrate notes.db --lock-timeout 300",
                    "waits longer, if a migration is locked"
                ),
            ]
        ),
        Explanation(
            message: "unable to open database file",
            alike: [
                "SQLITE_CANTOPEN", "SQLite error 14", "there is no database",
                "is a folder, not a database",
            ],
            results: [(14, "SQLITE_CANTOPEN")],
            codes: [
                "noSuchFile", "empty", "isDirectory", "notAFile", "permissionDenied",
                "cannotCreate",
                "cannotWrite", "noDatabasePath", "journalIsNoFile", "nameTooLong", "reservedName",
                "unreadableFile", "noSuchFolder",
            ],
            meaning: """
                There is no such file, or the file, its folder or a journal beside it can't be \
                opened.
                """,
            causes: [
                "The path is relative, and the program runs in another folder.",
                "The folder doesn't exist. SQLite makes files, but no folders.",
                """
                The user may not read the file, or not write to its folder, where the journal \
                goes.
                """,
                "The program has as many files open as it may.",
            ],
            next: [
                .init(
                    "status --show-settings",
                    "shows the path that is used, and where it comes from"
                ),
                .init("inspect notes.db", "says what is at the path, and who may read it"),
            ]
        ),
        Explanation(
            message: "attempt to write a readonly database",
            alike: [
                "SQLITE_READONLY", "SQLite error 8", "access permission denied",
                "authorization denied",
            ],
            results: [(8, "SQLITE_READONLY"), (3, "SQLITE_PERM"), (23, "SQLITE_AUTH")],
            codes: [
                "readOnly", "readOnlyFolder", "needsRecovery", "otherOwner", "cannotLock",
                "journalOfAnother",
                "linkOfAnother", "foreignJournal", "sqlRefused",
            ],
            meaning: "The file was opened for reading only, or the system doesn't allow writing.",
            causes: [
                "The file or its folder belongs to another user, or has no permission to write.",
                "The disk is mounted for reading only, or has become so after an error.",
                "The file was replaced or moved while the connection was open.",
                """
                A program was killed while it wrote: what it had begun must be undone first, by a \
                user who may write.
                """,
            ],
            next: [
                .init("inspect notes.db", "shows owner, mode and journals"),
                .init("verify notes.db", "checks it without writing"),
            ]
        ),
        Explanation(
            message: "disk I/O error",
            alike: ["SQLITE_IOERR", "SQLite error 10", "input/output error"],
            results: [(10, "SQLITE_IOERR")],
            codes: [
                "inputOutput", "notSynced", "outputNotWritten", "settingsUnreadable",
                "processEnded",
            ],
            meaning: "The operating system reported an error while the file was read or written.",
            causes: [
                "The disk has a fault, or was removed.",
                "The network file system went away, or doesn't support locks or shared memory.",
                "The file was cut short or replaced by another program.",
            ],
            next: [
                .init("Read the system's log: 'journalctl -k' names a disk with faults."),
                .init("verify --full notes.db", "reads everything once"),
                .init(
                    "backup notes.db --output /other/disk/copy.db",
                    "copies it as long as it can be read"
                ),
            ]
        ),
        Explanation(
            message: "database or disk is full",
            alike: [
                "SQLITE_FULL", "SQLite error 13", "No space left on device", "Disk quota exceeded",
            ],
            results: [(13, "SQLITE_FULL")],
            codes: ["diskFull"],
            meaning: """
                There is no room for the file, its journal or log, or for temporary files. What \
                was not committed is undone.
                """,
            causes: [
                "A rebuild, a conversion or a backup needs as much room again as the database has.",
                """
                One statement that changes everything has its old pages in the journal, or its new \
                ones in the log.
                """,
                "A reader that stays open keeps the log from beginning anew.",
            ],
            next: [
                .init("rehearse notes.db", "says beforehand how much room the migrations need"),
                .init("Run a statement that changes many rows in batches: '-- migrate:batch'."),
            ]
        ),
        Explanation(
            message: "out of memory",
            alike: [
                "SQLITE_NOMEM", "string or blob too big", "SQLITE_TOOBIG", "Cannot allocate memory",
                "mlock(",
            ],
            results: [(7, "SQLITE_NOMEM"), (18, "SQLITE_TOOBIG")],
            codes: ["limitExceeded"],
            meaning: "The statement needs more memory than the process has or may have.",
            causes: [
                "A text or blob is larger than SQLite's limit of 1,000,000,000 bytes.",
                "SQL of others makes one: randomblob, zeroblob, printf, group_concat.",
                """
                'lint', 'test' and 'plan' run SQL that may be a stranger's, and limit its memory \
                and time.
                """,
                "An R-tree is damaged: SQLite reports that so.",
                """
                "mlock() returned -1 errno=12": with PRAGMA cipher_memory_security, SQLCipher locks \
                its memory, of which the system allows little ('ulimit -l').
                """,
            ],
            next: [
                .init("lint", "names the migration that takes so much"),
                .init("verify notes.db --full", "names a damaged R-tree"),
                .init(
                    "Allow more locked memory (LimitMEMLOCK of systemd), or leave out that setting."
                ),
            ]
        ),
    ]

    // MARK: - Constraints

    private static let constraints: [Explanation] = [
        Explanation(
            message: "FOREIGN KEY constraint failed",
            alike: ["SQLITE_CONSTRAINT_FOREIGNKEY", "foreign key mismatch", "foreign_key_check"],
            results: [(787, "SQLITE_CONSTRAINT_FOREIGNKEY")],
            meaning: """
                A row refers to a row that doesn't exist, or a row was removed to which others \
                refer. "foreign key mismatch": the parent's columns have no unique index.
                """,
            causes: [
                """
                A table was rebuilt with foreign keys on: DROP TABLE deletes its rows, as DELETE \
                does.
                """,
                """
                The rows were written by a program that doesn't turn foreign keys on. That is \
                SQLite's default.
                """,
                "The parent's rows were deleted first.",
            ],
            next: [
                .init("verify notes.db", "names the tables and rows without a parent"),
                .init(
                    "lint --db-path notes.db",
                    "finds it in the migrations, against the rows of the database"
                ),
                .init("create --rebuild notes", "writes a rebuild that keeps the references"),
            ],
            pages: ["Rebuilding.md", "Checks.md"]
        ),
        Explanation(
            message: "UNIQUE constraint failed",
            alike: [
                "SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY",
                "PRIMARY KEY must be unique",
            ],
            results: [(2067, "SQLITE_CONSTRAINT_UNIQUE"), (1555, "SQLITE_CONSTRAINT_PRIMARYKEY")],
            meaning: "Two rows have the same values in columns that must differ.",
            causes: [
                "A migration creates a unique index, and the table has equal rows already.",
                "Two migrations insert the same row.",
            ],
            next: [
                .init(
                    "lint --db-path notes.db",
                    "counts the equal rows before the index is created"
                ),
                .init(
                    """
                    query notes.db "SELECT name, count(*) FROM notes GROUP BY name HAVING count(*) \
                    > 1"
                    """,
                    "shows them"
                ),
            ]
        ),
        Explanation(
            message: "NOT NULL constraint failed",
            alike: [
                "SQLITE_CONSTRAINT_NOTNULL", "Cannot add a NOT NULL column with default value NULL",
                "Cannot add a column with non-constant default", "Cannot add a UNIQUE column",
                "Cannot add a PRIMARY KEY column",
                "Cannot add a REFERENCES column with non-NULL default value",
            ],
            results: [(1299, "SQLITE_CONSTRAINT_NOTNULL")],
            codes: ["needsBackfill"],
            meaning: """
                A column that must have a value got none. ALTER TABLE ADD COLUMN can't add such a \
                column without a constant default, since every existing row would break the rule.
                """,
            causes: [
                "A new column is NOT NULL, and old rows have no value for it.",
                "An older version of the program writes rows without the column.",
            ],
            next: [
                .init("lint --db-path notes.db", "says which rows, and what to write instead"),
                .init(
                    "create --rebuild notes",
                    "writes the rebuild that gives the column its values"
                ),
            ]
        ),
        Explanation(
            message: "CHECK constraint failed",
            alike: ["SQLITE_CONSTRAINT_CHECK", "SQLITE_CONSTRAINT", "constraint failed"],
            results: [(275, "SQLITE_CONSTRAINT_CHECK"), (19, "SQLITE_CONSTRAINT")],
            codes: ["checkFailed", "requirementFailed", "stepFailed"],
            meaning: "A row breaks a rule of its table. The statement was undone.",
            causes: [
                "A rebuild has a new CHECK, and old rows don't keep it.",
                "A trigger refuses the change (RAISE).",
            ],
            next: [
                .init("lint --db-path notes.db", "says which rows of the database break it"),
                .init("rehearse notes.db", "runs the migrations on a copy"),
            ]
        ),
        Explanation(
            message: "datatype mismatch",
            alike: [
                "SQLITE_MISMATCH", "cannot store TEXT value in INTEGER column",
                "SQLITE_CONSTRAINT_DATATYPE",
            ],
            results: [(20, "SQLITE_MISMATCH"), (3091, "SQLITE_CONSTRAINT_DATATYPE")],
            meaning: """
                A value doesn't fit its column: a STRICT table, or a rowid that isn't a whole \
                number.
                """,
            causes: [
                "A table became STRICT, and old rows have texts in a column for numbers.",
                "Rows are copied into a rebuilt table with their columns in another order.",
            ],
            next: [
                .init(
                    "query notes.db \"SELECT typeof(size), count(*) FROM notes GROUP BY 1\"",
                    "shows what is in a column"
                ),
                .init("lint --db-path notes.db", "finds such rows before the migration runs"),
            ]
        ),
    ]

    // MARK: - Statements

    private static let statements: [Explanation] = [
        Explanation(
            message: "no such table",
            alike: [
                "already exists", "duplicate column name", "no such column", "has no column named",
                "no such index", "no such trigger", "no such view",
            ],
            codes: [
                "unknownTable", "brokenSchema", "schemaDiffers", "schemaNotCompared",
                "sqlInvalid", "sqlFailed",
            ],
            meaning: """
                The schema isn't the one for which the statement was written: it was changed by \
                other means, or the migrations have run in another order, or on another file.
                """,
            causes: [
                "The database was changed by hand, or by another tool.",
                "The path names another database than you think: SQLite makes an empty one.",
                "A migration was edited after it was applied.",
                "Two branches were merged, and both change the same table.",
            ],
            next: [
                .init("status notes.db", "shows what is applied, and where the schema differs"),
                .init(
                    "schema-diff --to notes.db",
                    "shows the difference; --format sql writes the mend"
                ),
                .init("lint", "runs the migrations on an empty database"),
            ]
        ),
        Explanation(
            message: "no such function",
            alike: [
                "no such module", "no such collation sequence", "no such tokenizer",
                "unknown function",
                "unknown collation", "unsafe use of",
            ],
            codes: ["unknownFunction", "unknownCollation"],
            meaning: """
                The schema or the statement needs a function, a collation, a module or a tokenizer \
                that the app registers, or an extension brings.
                """,
            causes: [
                "The app registers it on its own connections.",
                "The SQLite or SQLCipher that is linked has no FTS5, as in Ubuntu 24.04.",
                "A generated column, a CHECK or an index calls an app's function.",
            ],
            next: [
                .init(
                    "status notes.db --extension ./functions.so",
                    "loads an extension that has it"
                ),
                .init(
                    """
                    Use the library with the app's functions: a program of your own has all \
                    commands.
                    """
                ),
            ]
        ),
        Explanation(
            message: "error in view after drop column",
            alike: [
                "error in view", "error in trigger", "error in index", "after rename",
                "after drop column", "cannot drop column",
            ],
            codes: ["rebuildRefused"],
            meaning: """
                ALTER TABLE reads every view and trigger of the schema, and one of them names what \
                goes, or is broken already.
                """,
            causes: [
                "A view or a trigger still uses the column or the table.",
                "A view was broken before: SQLite lets it be declared.",
            ],
            next: [
                .init(
                    "lint",
                    "names the view, and the statements that drop and make it around the change"
                ),
                .init("create --rebuild notes", "writes the rebuild with its views and triggers"),
            ]
        ),
        Explanation(
            message: "cannot start a transaction within a transaction",
            alike: [
                "cannot commit - no transaction is active",
                "cannot rollback - no transaction is active",
                "cannot VACUUM from within a transaction",
                "cannot change into wal mode from within a transaction",
                "safety level may not be changed inside a transaction",
            ],
            codes: ["failed", "notForAllOrNothing"],
            meaning: """
                Each migration runs in a transaction. Its SQL must not begin or end one, and some \
                statements work only outside: VACUUM, PRAGMA journal_mode, PRAGMA foreign_keys.
                """,
            causes: [
                "The file has BEGIN and COMMIT, as scripts for the shell have.",
                "The file has VACUUM.",
            ],
            next: [
                .init("Leave BEGIN and COMMIT out: the whole file is one transaction."),
                .init(
                    """
                    Mark a migration that needs it with 'transaction:false' on its line '-- \
                    migrate:up'.
                    """
                ),
                .init("lint", "names the statement and its line"),
            ]
        ),
        Explanation(
            message: "database schema has changed",
            alike: ["SQLITE_SCHEMA"],
            results: [(17, "SQLITE_SCHEMA")],
            meaning: """
                Another connection changed the schema, and the statement can't be used any more. \
                SQLite prepares most statements again by itself.
                """,
            causes: [
                """
                A program keeps statements, or a copy of the schema, while another one migrates.
                """
            ],
            next: [
                .init("Open the database anew after a migration, or prepare the statement again.")
            ],
            pages: ["RollingDeploy.md"]
        ),
        Explanation(
            message: "interrupted",
            alike: ["SQLITE_INTERRUPT"],
            results: [(9, "SQLITE_INTERRUPT")],
            codes: ["interrupted"],
            meaning: "The work was ended from outside. What was not committed is undone.",
            causes: [
                """
                Ctrl-C, SIGTERM from a service manager, a hangup of the terminal, or a time limit.
                """
            ],
            next: [
                .init("status notes.db", "shows what is applied"),
                .init("migrate notes.db", "does the rest; nothing runs twice"),
            ]
        ),
        Explanation(
            message: "no such migration, or applied migrations were changed",
            alike: [
                "changed after it was applied", "changed after they were applied",
                "changed after its batches had begun", "can't be applied again before",
                "database is newer", "applied migrations are missing", "out of order",
                "no longer exists", "no longer exist",
            ],
            codes: [
                "migrationsChanged", "migrationsMissing", "databaseIsNewer",
                "databaseCanBeDowngraded",
                "pendingBeforeApplied", "unusableMigrations", "emptyFolder", "notAdopted",
                "draftMigration",
                "unusableLedger",
            ],
            meaning: """
                The files and the database's record of what was applied don't belong together: \
                applied migrations were edited, renamed or deleted, or a newer version has applied \
                more.
                """,
            causes: [
                "A migration was edited after it was applied somewhere.",
                "Two branches were merged, and the numbers of their migrations overlap.",
                "An older version of the program opens a database that a newer one has migrated.",
                "The folder is another tool's, whose record wasn't taken over.",
                "A migration was recorded by mistake, or its effect is there and isn't recorded.",
            ],
            next: [
                .init("status notes.db", "marks what was changed, is missing, late or unknown"),
                .init(
                    "repair 0002_add_size --db-path notes.db",
                    "brings the record up to date after files were edited or renamed"
                ),
                .init("downgrade notes.db", "takes back what a newer version has applied"),
                .init("migrate notes.db --adopt dbmate", "takes over the record of another tool"),
                .init(
                    "repair --applied 0002_add_size --db-path notes.db",
                    "records a migration whose effect is there, if the schema shows it"
                ),
                .init(
                    "repair --forget 0002_add_size --db-path notes.db",
                    "takes one out that was recorded without running"
                ),
            ],
            pages: ["TwoBranches.md", "OlderVersions.md", "FromOtherTools.md"]
        ),
        Explanation(
            message: "several migrations have the version",
            alike: ["duplicate version", "duplicate migration", "found duplicate migration"],
            meaning: """
                Two files of the folder have the same number, so which comes first isn't certain. \
                Nothing is applied until each has its own.
                """,
            causes: [
                "Two branches were merged that each had added a migration with that number."
            ],
            next: [
                .init(
                    """
                    Give the next number to the file that wasn't released: 'git mv' it, and change \
                    nothing in it.
                    """
                ),
                .init(
                    "repair --rename 0002_colour=0003_colour --db-path notes.db",
                    "records the new name where it was applied under the old one"
                ),
                .init(
                    "migrate notes.db --allow-out-of-order",
                    "applies the other branch's there, which come before it"
                ),
            ],
            pages: ["TwoBranches.md"]
        ),
        Explanation(
            message: "the schema isn't that of the migrations, which user_version counts",
            alike: [
                "user_version", "no file in the folder has that number",
                "no version was counted there",
            ],
            codes: ["noUserVersion", "unknownVersions", "otherSchema"],
            meaning: """
                Code of the app has migrated the database so far, and counts in PRAGMA user_version. \
                It is taken over only if the folder has a migration with that number, and the \
                migrations up to it give the schema that the database has.
                """,
            causes: [
                "The folder has no migration for the version that an old database has.",
                "The code has left the databases of one version with different schemas.",
                "The database was made by a newer version of the app.",
                "The app doesn't count in user_version, which is 0 then.",
            ],
            next: [
                .init(
                    "migrate notes.db --adopt user_version --dry-run",
                    "says what differs, and changes nothing"
                ),
                .init(
                    "baseline 0007_schema --db-path notes.db",
                    "records the migrations up to that one without comparing"
                ),
            ],
            pages: ["UserVersion.md"]
        ),
    ]

    // MARK: - The Secret Service

    private static let secretService: [Explanation] = [
        Explanation(
            message: "The name org.freedesktop.secrets was not provided by any .service files",
            alike: [
                "org.freedesktop.secrets", "no Secret Service",
                "org.freedesktop.DBus.Error.ServiceUnknown",
                "libsecret",
            ],
            codes: [
                "noSecretService", "secretServiceFailed", "secretServiceTimedOut", "noCollection",
                "noSecretPortal", "portalRefused",
            ],
            meaning: "No program keeps secrets on this session's bus.",
            causes: [
                "Neither GNOME Keyring, KWallet nor KeePassXC is installed or running.",
                "KeePassXC runs, and its Secret Service integration is off.",
                "It is a server or a container, which has none.",
            ],
            next: [
                .init("key doctor", "tells what is missing, and tries to store and read a key"),
                .init(
                    "key check notes.db --password-file FILE",
                    """
                    needs no secret store, as every command with that option; a service takes the \
                    key from a systemd credential
                    """
                ),
            ],
            pages: ["Keys.md#on-a-server", "Flatpak.md"]
        ),
        Explanation(
            message: "Cannot autolaunch D-Bus without X11 $DISPLAY",
            alike: [
                "Failed to connect to bus", "DBUS_SESSION_BUS_ADDRESS", "no session bus",
                "Could not connect: No such file or directory",
            ],
            codes: ["noBus"],
            meaning: "There is no session bus on which to reach the secret store.",
            causes: [
                "The program runs under sudo, cron or ssh, or as a system service.",
                "The variable DBUS_SESSION_BUS_ADDRESS isn't passed on.",
            ],
            next: [
                .init("key doctor", "says which bus it looks for"),
                .init("Run it in the user's session: 'systemd-run --user', or without sudo."),
            ]
        ),
        Explanation(
            message: "The prompt was dismissed",
            alike: [
                "Cannot create an item in a locked collection", "IsLocked", "prompt dismissed",
                "keyring is locked", "collection is locked", "Failed to unlock the keyring",
                "failed to unlock login keyring",
            ],
            codes: [
                "promptDismissed", "collectionLocked", "promptCancelled", "declined", "noTerminal",
            ],
            meaning: "The keyring is locked, and nobody has unlocked it.",
            causes: [
                "The user has cancelled the question for its password.",
                "Nobody is logged in on the desktop: automatic login doesn't unlock the keyring.",
                "The keyring still has the password of before the user's was changed.",
            ],
            next: [
                .init("key doctor", "says which collections there are, and which are locked"),
                .init("Unlock it, with Seahorse, KWalletManager or KeePassXC, and try again."),
            ]
        ),
    ]
}
