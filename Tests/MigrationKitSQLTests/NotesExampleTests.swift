import Foundation
import GRDB
import MigrationKit
import MigrationKitSQL
import TestSupport
import Testing

/// The migrations under `Examples/Notes`.
@Suite struct NotesExampleTests {
    private let steps: [MigrationStep<Database>]
    private let database: MigrationDatabase

    init() throws {
        steps = try MigrationFolder(path: PackageFolder.notesMigrations).steps
        database = try MigrationDatabase()
    }

    @Test func thereAreADozenStepsAndEachCanBeRolledBack() throws {
        #expect(steps.count >= 12)
        #expect(steps.allSatisfy { $0.rollback != nil })
        #expect(try MigrationRegistry(steps: steps).identifiers.first == "0001_create_folders")
    }

    @Test func everyRollbackRestoresTheSchemaBeforeIt() throws {
        for step in steps {
            let before = try database.schema()
            try database.apply(step)
            let after = try database.schema()
            try database.run(#require(step.rollback))
            #expect(try database.schema() == before, "after the rollback of \(step.identifier)")
            try database.apply(step)
            #expect(try database.schema() == after, "the second time of \(step.identifier)")
        }
    }

    @Test func everythingCanBeRolledBackAndAppliedAgain() throws {
        for step in steps { try database.apply(step) }
        let schema = try database.schema()
        let notes = try database.rows("SELECT * FROM notes ORDER BY id")
        let tags = try database.rows(Self.tagsOfNotes)
        for step in steps.reversed() { try database.run(#require(step.rollback)) }
        #expect(try database.schema().isEmpty)
        for step in steps { try database.apply(step) }
        #expect(try database.schema() == schema)
        #expect(try database.rows("SELECT * FROM notes ORDER BY id") == notes)
        #expect(try database.rows(Self.tagsOfNotes) == tags)
    }

    @Test func theRebuildOfNotesKeepsEveryChild() throws {
        let rebuild = try #require(
            steps.firstIndex { $0.identifier == "0011_store_times_as_numbers" }
        )
        for step in steps[..<rebuild] { try database.apply(step) }
        let children = try self.children()
        #expect(children.allSatisfy { !$0.isEmpty })

        try database.apply(steps[rebuild])
        #expect(try self.children() == children)
        #expect(
            try database.strings("SELECT DISTINCT typeof(created_at) FROM notes") == ["integer"]
        )
        try database.run(#require(steps[rebuild].rollback))
        #expect(try self.children() == children)
        #expect(
            try database.strings("SELECT updated_at FROM notes WHERE title = 'Tram 28'")
                == ["2024-02-02T07:45:00Z"]
        )
    }

    @Test func labelsBecomeTagsAndLabelsAgain() throws {
        let move = try #require(
            steps.firstIndex { $0.identifier == "0006_turn_labels_into_tags" }
        )
        for step in steps[...move] { try database.apply(step) }
        #expect(
            try database.rows(Self.tagsOfNotes) == [
                #"[title:"Caldo verde" tag:"cooking"]"#,
                #"[title:"Caldo verde" tag:"family"]"#,
                #"[title:"Caldo verde" tag:"portugal"]"#,
                #"[title:"Packing list" tag:"trips"]"#,
                #"[title:"Sourdough starter" tag:"cooking"]"#,
                #"[title:"Sourdough starter" tag:"weekly"]"#,
                #"[title:"Tram 28" tag:"portugal"]"#,
                #"[title:"Tram 28" tag:"trips"]"#,
            ]
        )
        let made = try database.strings("SELECT id FROM tags")
        #expect(made.allSatisfy { UUID(uuidString: $0) != nil })

        try database.run(#require(steps[move].rollback))
        let labels = try database.strings("SELECT lower(labels) FROM notes ORDER BY title")
        #expect(
            labels == [
                "cooking, family, portugal", "trips", "cooking, weekly", "portugal, trips", "",
            ]
        )
    }

    @Test func theSearchIndexStaysInStep() throws {
        for step in steps { try database.apply(step) }
        try checkSearchIndex()
        #expect(try search("kale") == ["Caldo verde"])

        try database.queue.write { db in
            try db.execute(
                sql: """
                    INSERT INTO notes (folder_id, title, body)
                    SELECT id, 'Soup', 'Another one with kale' FROM folders WHERE name = 'Inbox';
                    UPDATE notes SET body = 'Spinach will do' WHERE title = 'Caldo verde';
                    """
            )
        }
        try checkSearchIndex()
        #expect(try search("kale") == ["Soup"])
        #expect(try search("spinach") == ["Caldo verde"])

        // The notes go by way of their folder, and their tags, files and keys by way of them.
        try database.queue.write { db in
            try db.execute(sql: "DELETE FROM folders WHERE name IN ('Recipes', 'Travel')")
        }
        try checkSearchIndex()
        #expect(try search("spinach OR tram") == [])
        #expect(try database.integers("SELECT count(*) FROM note_search_keys") == [2])
        #expect(try database.integers("SELECT count(*) FROM note_tags") == [0])
        #expect(try database.integers("SELECT count(*) FROM attachments") == [0])

        // What counts is whether the checks above could fail.
        try database.queue.write { db in
            try db.execute(
                sql: "INSERT INTO note_search (rowid, title) VALUES (99, 'Nothing has this key')"
            )
        }
        #expect(throws: DatabaseError.self) { try checkSearchIndex() }
    }

    @Test func theSearchIndexSurvivesVacuum() throws {
        for step in steps { try database.apply(step) }
        try database.queue.write { db in
            try db.execute(sql: "DELETE FROM notes WHERE title = 'Welcome'")
        }
        try database.queue.vacuum()
        try checkSearchIndex()
        #expect(try search("passport") == ["Packing list"])
    }

    @Test func theRollbackOfTheWelcomeNotesLeavesWhatIsSomebodysOwn() throws {
        let welcome = try #require(
            steps.firstIndex { $0.identifier == "0005_add_welcome_notes" }
        )
        for step in steps[...welcome] { try database.apply(step) }
        try database.queue.write { db in
            try db.execute(
                sql: """
                    INSERT INTO notes (folder_id, title)
                    SELECT id, 'Mine' FROM folders WHERE name = 'Lisbon'
                    """
            )
        }
        try database.run(#require(steps[welcome].rollback))
        #expect(try database.strings("SELECT title FROM notes") == ["Mine"])
        #expect(
            try database.strings("SELECT name FROM folders ORDER BY name") == ["Lisbon", "Travel"]
        )
    }

    @Test func revisionsAreKeptAndBounded() throws {
        for step in steps { try database.apply(step) }
        try database.queue.write { db in
            for number in 1...25 {
                try db.execute(
                    sql: "UPDATE notes SET body = ? WHERE title = 'Welcome'",
                    arguments: ["Version \(number)"]
                )
            }
        }
        #expect(try database.integers("SELECT count(*) FROM note_revisions") == [20])
        #expect(
            try database.strings("SELECT body FROM note_revisions ORDER BY id LIMIT 1")
                == ["Version 5"]
        )
        #expect(
            try database.strings("SELECT preview FROM notes WHERE title = 'Welcome'")
                == ["Version 25"]
        )
    }

    private static let tagsOfNotes = """
        SELECT notes.title, lower(tags.name) AS tag
        FROM note_tags
        JOIN notes ON notes.id = note_tags.note_id
        JOIN tags ON tags.id = note_tags.tag_id
        ORDER BY notes.title, tag
        """

    /// The rows of every table that refers to "notes".
    private func children() throws -> [[String]] {
        try ["attachments", "note_tags", "note_search_keys", "reminders"].map {
            try database.rows("SELECT * FROM \($0) ORDER BY 1, 2")
        }
    }

    private func search(_ words: String) throws -> [String] {
        try database.strings(
            "SELECT title FROM note_search WHERE note_search MATCH '\(words)' ORDER BY title"
        )
    }

    /// Compares the index with the text that it stands for:
    /// <https://www.sqlite.org/fts5.html#the_integrity_check_command>.
    private func checkSearchIndex() throws {
        try database.queue.write { db in
            try db.execute(
                sql: "INSERT INTO note_search (note_search, rank) VALUES ('integrity-check', 1)"
            )
        }
    }
}
