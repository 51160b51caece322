/// What each code of an error means, for `explain` and the page on errors.
struct ErrorMeaning: Sendable {
    let code: String

    /// The exit codes of commands that end with it; none for signals.
    let exitCodes: [Int32]

    /// What has happened.
    let meaning: String
}

extension ErrorMeaning {
    /// Every code, by exit code.
    static let all: [ErrorMeaning] = table.split(separator: "\n").map { line in
        let parts = line.split(separator: ": ", maxSplits: 1)
        let words = parts[0].split(separator: " ")
        return ErrorMeaning(
            code: String(words[0]),
            exitCodes: words.dropFirst().compactMap { Int32($0) },
            meaning: String(parts[1])
        )
    }

    /// A code, its exit codes, and what it means.
    private static let table = """
        batchNeverEnds 1: A statement that runs in batches isn't getting done: each pass over \
        the table changes as many rows as the one before. Its WHERE must leave out what is done.
        batchRepeats 1: A statement that runs in batches changes rows again that it has changed \
        already. The batch was undone. Its WHERE must leave out what is done.
        canaryFailed 1: A canary of a fleet failed, so the other databases were not started.
        databaseError 1: SQLite reported an error that has no code of its own; the message is \
        SQLite's.
        failed 1: An error without a code of its own; its message says what happened.
        migrationNotPlanned 1: After the statements that were planned, the schema still differs \
        from the wanted one. Nothing was written.
        missingShards 1: The reports of a fleet's run don't cover all of its parts.
        mixedReports 1: The reports are of different runs.
        rebuildRefused 1: A rebuild of the table would lose something, so it wasn't written.
        sqlFailed 1: The SQL failed while it ran; its transaction was undone.
        stepFailed 1: A migration failed and was undone. The message names it, and says which \
        ones stay.
        storesFailed 1: Some databases of a fleet failed. The report names them.
        storesUnfinished 1: Some databases of a fleet were begun and not finished. The same \
        command does the rest.
        tooManyFailures 1: More databases of a fleet failed than --max-failures allows; the \
        others were not started.
        unknownCollation 1: Copying the rows needs a collation of the app, which isn't \
        registered here.
        unknownFunction 1: Copying the rows needs an SQL function of the app, which isn't \
        registered here.
        checkFailed 2: A check of a migration or of the folder found rows that violate it. The \
        migration was undone.
        copyDiffers 2: The new file differs from the old one, and was deleted. The database is \
        unchanged.
        copyIsDamaged 2: The new file is damaged although the old one is sound, and was deleted. \
        The disk may have a fault.
        incomplete 2: Not everything could be recovered. The report lists what is lost.
        migrationNotProven 2: The migration didn't pass its proof: it fails, leads to another \
        schema, or can't be taken back. Nothing was written.
        requirementFailed 2: What a migration requires of the database doesn't hold. It wasn't \
        begun.
        verificationFailed 2: The database isn't sound: it is damaged, rows refer to rows that \
        don't exist, or an index is missing.
        lintFindings 3: The linter found something at the given level.
        pending 3: Migrations are pending, and --exit-code was given.
        schemaDiffers 3: The schema differs from the file, and --check or --exit-code was given.
        testsFailed 3: A test of the migrations failed.
        accountWithoutService 64: --keychain-account was given without --keychain-service.
        adoptionWithoutFolder 64: --adopt needs a folder of files, but this program has built-in \
        migrations.
        allAndService 64: --all and --keychain-service contradict each other.
        alreadyApplied 64: A migration, or its new name, is already recorded as applied.
        alreadyCurrent 64: The database has the wanted settings already. Nothing is to be done.
        ambiguousMigration 64: Several migrations begin with the given text. Give more of the \
        name.
        baselineOnMigratedDatabase 64: Migrations are recorded in the database already, so there \
        is nothing to begin with.
        baseWithoutFolder 64: --base needs a folder of files, but this program has built-in \
        migrations.
        collectionWithoutService 64: --keychain-collection was given without --keychain-service.
        commandInSettings 64: The settings file names a command to run, which it must not: files \
        may come from others.
        incompleteSettings 64: A setting needs another one, which is missing.
        inMemory 64: The database is in memory, so there is no file to copy.
        invalidLimit 64: A variable that limits time or memory is no whole number.
        keyForPlaintext 64: A key was given together with --no-encryption.
        malformedSettings 64: The settings file is not TOML. The message names line and column.
        migrationBegun 64: Some batches of the migration are done, so it can't be recorded as \
        applied, renamed, or recorded with another text.
        missingParameter 64: A parameter of the SQL has no value. Give it with --bind.
        needsBackfill 64: A new column is NOT NULL, and nothing gives it a value for existing \
        rows. Give it with --backfill.
        needsConfirmation 64: There is no terminal on which to ask. --yes confirms.
        negativeSteps 64: The number of migrations is negative.
        noCanaries 64: No database is in the group that --canary-group names.
        noDatabasePath 64: No database was named.
        noExplanation 64: Nothing is known of this message, code or number.
        noItemNamed 64: The item of the secret store is not named: the service or the account is \
        missing.
        noKey 64: No source of a key was named, and there is no terminal to ask on.
        noNameRoot 64: The keys of a fleet go by names, and --name-from doesn't say where in a \
        path the name begins.
        noNewKey 64: No source of the new key was named, and there is no terminal to ask on.
        noRecoveryCopyGiven 64: No recovery copy was given.
        noRecoveryPassphrase 64: No passphrase was given for the recovery copy.
        noSQL 64: There is no SQL to run.
        notApplied 64: The migration isn't recorded as applied.
        noTerminal 64: There is no terminal to ask on.
        notLatestApplied 64: The migration to take back isn't the one that was applied last.
        notText 64: An argument or a variable isn't UTF-8.
        outputIsNoTerminal 64: Standard output is not a terminal, so a key could end up in a \
        file. --force prints it anyway.
        passphrasesDiffer 64: The two passphrases that were typed differ. Nothing was changed.
        sameFile 64: The backup and the database are the same file.
        sameKey 64: The new key is the old one. Nothing was changed.
        schemaSnapshotNotConfigured 64: This program can't show the schema: its host gives none.
        secretInSettings 64: The settings file contains a secret, which it must not.
        serviceAlreadyStarted 64: The service runs already, or has run. It runs once.
        settingsExist 64: A settings file is there already, with something else in it.
        severalKeySources 64: Two sources of the key were named. Leave one.
        severalStatements 64: The SQL has several statements. With --write, several run in one \
        transaction.
        sqlInvalid 64: SQLite can't compile the SQL. The message names the line.
        sqlRefused 64: The SQL may not do that here: it would change the schema, the record of \
        migrations, the key or another file.
        stillThere 64: The migration is still in the folder and has run, so its record isn't \
        forgotten or renamed.
        targetBehindDatabase 64: A later migration than the target is applied. To go back, use \
        'rollback'.
        tooManyJobs 64: --jobs needs more open files than the process may have.
        unknownBackfill 64: --backfill names no column that gets a value.
        unknownCipherSettings 64: These settings of SQLCipher don't exist, or don't fit \
        together.
        unknownCommand 64: There is no such command.
        unknownMigration 64: There is no such migration.
        unknownParameter 64: The SQL has no such parameter.
        unknownRename 64: --rename names nothing that goes, or nothing that comes.
        unknownSetting 64: There is no such setting.
        unknownShard 64: There is no such part of the fleet.
        unknownTable 64: There is no such table, or it is of a kind that can't be rebuilt.
        unknownTarget 64: There is no such migration to end with.
        unusableKeySource 64: The source can't give a key: a descriptor that isn't open, a \
        terminal that would show it, or no command.
        unusableName 64: The name or the format can't be used for a new migration.
        unusableStoreName 64 65: The name can't be that of a database of a fleet: it is empty, \
        or leads out of its folder.
        usage 64: Wrong usage. The message shows the right one.
        wrongSetting 64: A setting has a value of the wrong type or size.
        adoptedMigrationsChanged 65: Files differ from what the other tool has applied.
        badStoreLine 65: A line of a list of databases can't be read.
        brokenSchema 65: SQLite refuses a statement of the schema.
        cannotDowngrade 65: What a newer version has applied can't be taken back: the database \
        doesn't have the SQL for it.
        damagedRecoveryCopy 65: The recovery copy is damaged, cut short, or has a typing error. \
        The message names the line.
        databaseCanBeDowngraded 65: A newer version has applied migrations that this one doesn't \
        know; 'downgrade' can take them back.
        databaseIsNewer 65: A newer version has applied migrations that this one doesn't know.
        downgradeDiffers 65: After the downgrade, the schema would not be this version's. \
        Nothing was changed.
        draftMigration 65: The migration has no SQL yet.
        dumpMigrationsDiffer 65: The dump's migrations aren't those of the folder.
        hazard 65: The migration may lose or refuse rows in this way, which wasn't allowed by \
        name.
        limitExceeded 65: The SQL took more time or memory than it may.
        migrationsChanged 65: Migrations were edited after they were applied, or after their \
        batches had begun. 'repair' brings the record of applied ones up to date.
        migrationsMissing 65: Applied migrations are missing from the folder, which has later \
        ones.
        noRecoveryCopy 65: The file is no recovery copy.
        noUserVersion 65: The database's user_version is 0, so no version was counted there.
        notAdopted 65: Another tool or the app has migrated the database, and nothing is \
        recorded here. --adopt takes over a tool's record, a baseline stands for a counter.
        notForAllOrNothing 65: A migration can't be part of an all-or-nothing run.
        otherSchema 65: The database's schema isn't the one from which the migration begins, that \
        its user_version stands for, or that the migration to record would make.
        pendingBeforeApplied 65: Migrations are pending that come before an applied one. \
        --allow-out-of-order applies them.
        rollbackNotDefined 65: The migration has no SQL that undoes it.
        sameStoreName 65: Two databases of a fleet have the same name, and so would have the \
        same key.
        schemaNotCompared 65: The schema can't be compared with that of the migrations.
        storeOutside 65: A database isn't below the folder of --name-from.
        unexpectedVersionTable 65: The table has other columns, types or constraints than that \
        tool's.
        unfinishedMigration 65: The other tool has begun a migration and not finished it.
        unknownVersions 65: The other tool has applied versions for which there is no file.
        unusableBatch 65: The statement can't be run in batches.
        unusableCheck 65: A check isn't a query, or SQLite refuses it.
        unusableDump 65: The dump doesn't list its migrations, or has a statement that no dump \
        may have.
        unusableLedger 65: A table that records migrations has other columns or rows than it \
        should.
        unusableMigrations 65: The migrations can't be used: duplicate, out of order, or not \
        readable as migrations.
        unusableTest 65: A test of the folder can't be used.
        empty 66: The file is empty.
        emptyFolder 66: The folder has no migrations.
        isDirectory 66: The path leads to a folder.
        journalIsNoFile 66: Something that isn't a file has the name of a journal of the \
        database.
        listUnreadable 66: A folder or a list of databases can't be read.
        missingMigration 66: A file of the folder is a link that leads nowhere, or went away.
        multipleCiphers 66: The file is one of SQLite3 Multiple Ciphers, another library.
        noCopy 66: There is no copy of this database of the fleet.
        noFolderInReference 66: The branch or commit has no such folder.
        noReport 66: There is no report, or no line of it can be read.
        noRepository 66: The folder is in no git repository.
        noStores 66: No file matches the pattern of databases.
        noSuchFile 66: There is no such file.
        noSuchFolder 66: There is no such folder.
        noSuchKeyFile 66: There is no such file of a key.
        noSuchReference 66: git has no such branch, tag or commit. A clone of CI may have only \
        one.
        noSuchSettingsFile 66: There is no such settings file.
        notADatabase 66: The file can't be a database, encrypted or not.
        notAFile 66: The path leads to a pipe, a socket or a device.
        notAKeyFile 66: The path of a key leads to something that is no file.
        noVersionTable 66: The database doesn't have the other tool's table.
        unusableExtension 66: The extension of SQLite can't be loaded.
        itemWithoutAccount 69: The key's item names no account, so no other can be stored beside \
        it. Nothing was changed.
        keyAmbiguous 69: Several items of the secret store match. --keychain-account selects \
        one, and 'key delete --item' deletes one.
        keyHelperTimedOut 69: The program that gives keys didn't answer in time.
        keyNotFound 69: The secret store is unlocked and has no such key.
        noBus 69: There is no session bus on which to reach a secret store.
        noCollection 69: The secret store has no such collection.
        noDerivation 69: libcrypto refuses to derive a key, or another computation.
        noGit 69: There is no git, which --base needs.
        noKeyOpens 69: No key that was tried opens the database.
        noSecretPortal 69: The sandbox has no portal that keeps a secret for the program.
        noSecretService 69: No program keeps secrets on the session bus, or libsecret isn't \
        installed.
        noShell 69: There is no sqlcipher program.
        notStored 69: The secret store accepted a key and doesn't return it. The database still \
        has a key that opens it.
        noUsableKey 69: 'key doctor' has found why no key can be used.
        oldKeyStillNeeded 69: The old key is kept, since the secret store may not have written \
        the new one yet. Nothing was changed.
        rotationUnfinished 69: The database has its new key, which is stored as the pending one. \
        The next opening finishes the rotation.
        secretServiceFailed 69: The secret store reported an error; the message is its own.
        secretServiceTimedOut 69: The secret store didn't answer in time.
        serviceStopped 69: The service was shut down.
        cannotCreate 73: The file can't be created.
        cannotWrite 73: The output can't be written.
        databaseExists 73: The database isn't empty.
        databaseHasKey 73: The database is encrypted with a key that isn't stored; a new one \
        would not open it.
        exists 73: A file is there already.
        keyExists 73: A key is stored there already.
        nameTooLong 73: The name is too long: the files beside it need longer ones.
        notAReport 73: The file is no report, so nothing is added to it.
        opensAnotherFile 73: The program opens another database than the one that was named.
        reservedName 73: The name is that of another database's journal, log or lock.
        backupFailed 74: The backup before the run failed. The database is unchanged.
        damaged 74: The key is right, and the file is damaged.
        damagedLog 74: The write-ahead log is damaged. The database wasn't opened, since that \
        would discard commits.
        diskFull 74: The disk or the quota is full. What was not committed is undone.
        foreignJournal 74: The journal names another file, which SQLite would delete.
        gitFailed 74: git failed; the message is its own.
        inputOutput 74: The operating system reported an error while reading or writing.
        keyUnreadable 74: The source of the key can't be read.
        needsRecovery 74: A program was stopped while it wrote, and undoing that needs \
        permission to write.
        newerFormat 74: The file is whole, but needs a newer SQLite.
        noProcess 74: No process can be started.
        noRandomBytes 74: The system gives no random bytes.
        noSQLCipher 74: The program is linked with another SQLite, which would not encrypt.
        notSynced 74: The new file is in place, but its folder couldn't be synchronized. Keep \
        both keys: after a power cut the old file may be back.
        otherJournal 74: The write-ahead log or the journal beside the database isn't its own, or its \
        database is missing. Nothing was changed.
        outputNotWritten 74: The result couldn't be written to standard output.
        processEnded 74: The process that runs SQL under limits was ended.
        settingsUnreadable 74: The settings file can't be read.
        changedMeanwhile 75: Another program wrote to the file while it was read. Nothing was \
        changed.
        inUse 75: Other processes have the database open. The message names them.
        locked 75: Another process held a lock for too long.
        logStaysFull 75: The write-ahead log has reached its limit, and a reader keeps it from \
        beginning anew.
        oldFileInUse 75: The new file is in place, and other processes still have the old one \
        open.
        promptBusy 75: Another question is open on the terminal.
        replacedMeanwhile 75: Another program put another file in the database's place. It was \
        left alone.
        cannotLock 77: The lock file can't be created.
        collectionLocked 77: The collection of the secret store is locked, and nobody may be \
        asked.
        declined 77: The question was answered with no.
        emptyKey 77: The source of the key gave nothing.
        encrypted 77: The file is encrypted, and no key was given; or it is no database.
        formerKey 77: The key is a former one of the database.
        journalOfAnother 77: The journal belongs to another user than the database.
        keyFileIsLink 77: The file of the key is a symbolic link.
        keyFileOfAnother 77: The file of the key belongs to another user.
        keyFileOpenToOthers 77: Others may read the file of the key. 'chmod 600' mends that.
        keyHelperFailed 77: The program that gives keys ended, or its answer can't be \
        understood.
        keyPermissionDenied 77: This user may not read the file of the key.
        keyRefused 77: The program that gives keys has none for this database.
        keyStoreReadOnly 77: The keys come from a source that can't be written, such as a file.
        keysUnreadable 77: The file with the sandbox's keys can't be opened with the portal's \
        secret.
        keyTooLarge 77: The source gave more bytes than a key may have.
        leavesRepository 77: A link or a setting leads out of the repository, whose files may be \
        a stranger's.
        linkOfAnother 77: The path leads through a link that another user has laid.
        neitherKeyOpens 77: A rotation was interrupted, and neither of its two keys opens the \
        file.
        notPlaintext 77: The database to encrypt isn't plaintext.
        olderFormat 77: The key is right, with the settings of another version of SQLCipher.
        otherOwner 77: The file belongs to another user, who would lose it if it were replaced.
        otherSettings 77: The key is right, with settings that the message names.
        passwordCommandFailed 77: The command that gives the key failed.
        permissionDenied 77: This user may not read the file.
        plaintext 77: A key was given, and the file isn't encrypted.
        plaintextHeader 77: The file has a plaintext header of another size than the settings \
        say.
        portalRefused 77: The portal gave no secret: the keyring behind it is locked, or has \
        none.
        promptCancelled 77: The question was cancelled.
        promptDismissed 77: The question for the keyring's password was dismissed or not shown.
        readOnly 77: The file can be read, but not written.
        readOnlyFolder 77: The folder can't be written, so there is no place for a journal.
        repositoryOfAnother 77: The git repository belongs to another user.
        settingsOfAnother 77: The settings file belongs to another user, or others may write it.
        settingsPermissionDenied 77: This user may not read the settings file.
        unreadableFile 77: The file can't be read.
        unreadableMigrations 77: The folder, or a file in it, can't be read.
        unstorablePassphrase 77: The secret store can't keep this passphrase as it is.
        unusableKey 77: The text is no key: a raw key has 64 or 96 hexadecimal digits.
        wrongKey 77: The key doesn't open the file.
        wrongRecoveryPassphrase 77: The passphrase of the recovery copy is wrong, or the copy is \
        damaged.
        interrupted: Ended by a signal: the exit code is 128 and its number. What was not \
        committed is undone.
        """
}
