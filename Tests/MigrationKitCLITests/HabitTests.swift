import Foundation
import TestSupport
import Testing

@testable import MigrationKitCLI

/// What users of other tools type, and what the tool makes of it.
@Suite struct HabitTests {
    /// What is typed, and the command or option that the answer must name.
    private static let habits = """
        version > --version
        -V > --version
        -v > --version
        up > migrate
        apply > migrate
        run > migrate
        latest > migrate
        goto > migrate --to
        migrat > migrate
        Migrate > migrate
        down > rollback
        undo > rollback
        revert > rollback
        reset > rollback
        back > rollback
        new add_tags > create
        make add_tags > create
        add add_tags > create
        generate migration add_tags > create
        setup > init
        info > status
        ls > status
        list > status
        current > status
        show > status
        migrations > status
        config > status --show-settings
        settings > status --show-settings
        log > history
        journal > history
        pending > plan
        preview > plan
        dry-run > migrate --dry-run
        simulate > rehearse
        validate > verify
        check > verify
        fsck > verify
        force 3 > baseline
        stamp head > baseline
        mark > baseline
        fix > repair
        resolve --applied x > repair
        recover > salvage
        rescue > salvage
        dump > schema-dump
        load > schema-load
        schema > schema-dump
        diff > schema-diff
        compare > schema-diff
        drift > schema-diff
        copy > backup
        clone > backup
        snapshot > backup
        keygen > key generate
        genkey > key generate
        keys > key list
        doctor > key doctor
        export > key export
        import > key import
        rotate > key rotate
        rotate-key > key rotate
        passwd > rekey
        password > rekey
        change-password > rekey
        reencrypt > rekey
        sql > query
        select > query
        exec > query
        console > shell
        repl > shell
        open > shell
        sqlcipher > shell
        sqlite3 > shell
        stat > inspect
        stats > inspect
        errors > explain
        why > explain
        audit > lint
        analyze > lint
        completion > completions
        schema dump > schema-dump
        schema load > schema-load
        schema diff > schema-diff
        schema check > verify
        schema export > schema-dump
        schema:dump > schema-dump
        schema:load > schema-load
        db migrate > migrate
        db:migrate > migrate
        db rollback > rollback
        db:rollback > rollback
        db status > status
        db create > migrate
        db up > migrate
        db dump > schema-dump
        db export > backup
        db reset > rollback
        db console > shell
        database backup > backup
        migration create add_tags > create
        migration new add_tags > create
        migration add add_tags > create
        migrations list > status
        migration status > status
        migration up > migrate
        migration remove > rollback
        migrate:up > migrate
        migrate:down > rollback
        migrate:status > status
        stores list > fleet status
        stores migrate > fleet migrate
        keychain list > key list
        secret set > key set
        key new > key generate
        key create > key generate
        key gen > key generate
        key add > key set
        key put > key set
        key store > key set
        key rm > key delete
        key remove > key delete
        key del > key delete
        key ls > key list
        key get > key show
        key print > key show
        key cat > key show
        key info > key show
        key test > key check
        key verify > key check
        key search > key find
        key lookup > key find
        key change > key rotate
        key rekey > key rotate
        key passwd > key rotate
        key backup > key export
        key restore > key import
        key status > key doctor
        key diagnose > key doctor
        key generat > key generate
        fleet ls > fleet status
        fleet list > fleet status
        fleet up > fleet migrate
        fleet apply > fleet migrate
        fleet down > fleet rollback
        fleet undo > fleet rollback
        fleet check > fleet verify
        fleet rotate > fleet rekey
        migrate --db x > --db-path
        migrate --url x > --db-path
        migrate --database x > --db-path
        migrate --database-url x > --db-path
        migrate --db_path x > --db-path
        migrate --dbpath x > --db-path
        migrate --file x > --db-path
        migrate --dir m > --migrations
        migrate --path m > --migrations
        migrate --folder m > --migrations
        migrate --source m > --migrations
        migrate --migration m > --migrations
        migrate --migrations-dir m > --migrations
        migrate --migrations-path m > --migrations
        migrate --dry > --dry-run
        migrate --dryrun > --dry-run
        migrate --noop > --dry-run
        migrate --simulate > --dry-run
        migrate --target 3 > --to
        migrate --until 3 > --to
        migrate --upto 3 > --to
        migrate --revision 3 > --to
        migrate --count 1 > --steps
        migrate --step 1 > --steps
        migrate --limit 1 > --steps
        migrate --number 1 > --steps
        migrate -1 > --steps 1
        migrate --service s > --keychain-service
        migrate --keychain s > --keychain-service
        migrate --keyring s > --keychain-service
        migrate --account a > --keychain-account
        migrate --user a > --keychain-account
        migrate --collection a > --keychain-collection
        migrate --key-file k > --password-file
        migrate --keyfile k > --password-file
        migrate --key k > --password-file
        migrate --passphrase-file k > --password-file
        migrate --passphrase k > --password-file
        migrate --password-cmd k > --password-command
        migrate --hex-key > --raw-key
        migrate --raw > --raw-key
        migrate --plaintext > --no-encryption
        migrate --plain > --no-encryption
        migrate --out-of-order > --allow-out-of-order
        migrate --single-transaction > --all-or-nothing
        migrate --atomic > --all-or-nothing
        migrate --silent > --quiet
        migrate --format json > --json
        migrate --timeout 3 > --lock-timeout
        migrate --config-file x > --config
        migrate --kdf-iter 3 > --kdf-iterations
        rollback --force > --yes
        rollback --assume-yes > --yes
        rollback --target 3 > --to
        rollback --count 2 > --steps
        rollback -1 > --steps 1
        status --db x > --db-path
        status --service s > --keychain-service
        status --key-file k > --password-file
        status --format json > --json
        status --settings > --show-settings
        status --check > --exit-code
        verify --deep > --full
        verify --all > --full
        query --db x > --db-path
        query --path x > --db-path
        backup x.db y.db --dest z > --output
        backup x.db y.db --out z > --output
        restore --input b.db > --from
        restore --from b --force > --yes
        lint --dir m > --migrations
        lint --severity error > --level
        test --path m > --migrations
        schema-dump --out x > --output
        rekey --new-key-file k > --new-password-file
        encrypt --key-file k > --password-file
        inspect --key k > --password-file
        status --passfile k > --password-file
        """.split(separator: "\n").map { line in
            let parts = line.components(separatedBy: " > ")
            return Habit(typed: parts[0], meant: parts[1])
        }

    struct Habit: CustomTestStringConvertible, Sendable {
        let typed: String
        let meant: String
        var testDescription: String { typed }
    }

    @Test(arguments: habits)
    func habitLeadsToTheCommand(habit: Habit) throws {
        let result = ToolInProcess().run(habit.typed.split(separator: " ").map(String.init))
        #expect(result.status == 64, "\(result)")
        #expect(result.stderr.contains("Did you mean '\(habit.meant)'?"), "\(result)")
        guard !habit.meant.hasPrefix("-") else { return }
        let words = habit.meant.split(separator: " ").map(String.init).filter { !$0.hasPrefix("-") }
        #expect(ToolCommands.words.contains(words), "what is suggested is no command")
    }

    @Test func listIsLong() {
        #expect(Self.habits.count >= 200)
    }

    /// No hint is better than one that does something else.
    @Test(arguments: [
        "deploy", "seed", "unlock", "frobnicate", "migrate --verbose", "migrate --yes",
        "status --force", "lint --fix", "status -v", "key frobnicate", "downgrade -1",
        "query --deep", "backup x y --yes",
    ])
    func nothingIsGuessed(_ typed: String) {
        let result = ToolInProcess().run(typed.split(separator: " ").map(String.init))
        #expect(result.status == 64, "\(result)")
        #expect(!result.stderr.contains("Did you mean"), "\(result)")
    }
}
