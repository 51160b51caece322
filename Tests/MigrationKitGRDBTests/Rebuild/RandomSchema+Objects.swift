/// What hangs on the table that changes.
extension RandomSchema {
    mutating func makeIndexes() {
        let kinds = [
            ("DESC index", "(title DESC, count_of)"),
            ("index with collation", "(body COLLATE RTRIM DESC)"),
            ("partial index", "(count_of) WHERE count_of > 3 AND title IS NOT NULL"),
            ("expression index", "(lower(body), length(title) DESC)"), ("index", "(amount, title)"),
        ]
        for (number, kind) in kinds.enumerated() where chance(3) {
            features.insert(kind.0)
            setup.append("CREATE INDEX ix_\(number) ON \(table.quoted) \(kind.1)")
        }
        if change != .drop, chance(2) {
            setup.append("CREATE INDEX \"ix plain\" ON \(table.quoted) (plain_old, title)")
        }
    }

    mutating func makeViews() {
        let isUsed = change != .drop
        if chance(3) {
            features.insert("view")
            setup.append(
                "CREATE VIEW titles AS SELECT title, body\(isUsed ? ", plain_old" : "") FROM \(table.quoted)"
            )
            if chance(2) {
                setup.append(
                    "CREATE VIEW again AS SELECT upper(title) AS big FROM titles -- the same"
                )
            }
            if chance(2) {
                features.insert("INSTEAD OF trigger")
                setup.append(
                    "CREATE TRIGGER on_titles INSTEAD OF INSERT ON titles BEGIN "
                        + "INSERT INTO log VALUES (new.title); END"
                )
            }
        }
        if chance(3) { setup.append("CREATE VIEW authors AS SELECT name FROM author") }
    }

    mutating func makeChildren() {
        guard key.count == 1 || !hasRowID else { return }
        let actions = ["CASCADE", "SET NULL", "SET DEFAULT", "RESTRICT", "NO ACTION"]
        for (number, action) in actions.enumerated() where chance(3) {
            features.insert("child ON DELETE \(action)")
            let names = key.map { "note_\($0)" }
            setup.append(
                "CREATE TABLE child\(number) (id INTEGER PRIMARY KEY, \(names.joined(separator: ", ")), "
                    + "FOREIGN KEY (\(names.joined(separator: ", "))) REFERENCES \(table.quoted)"
                    + " (\(key.joined(separator: ", "))) ON DELETE \(action))"
            )
            setup.append(
                "INSERT INTO child\(number) (\(names.joined(separator: ", "))) "
                    + "SELECT \(key.joined(separator: ", ")) FROM \(table.quoted)"
            )
            if chance(10) {
                features.insert("orphans")
                setup.append(
                    "INSERT INTO child\(number) (\(names.joined(separator: ", "))) "
                        + "VALUES (\(names.map { _ in "'gone'" }.joined(separator: ", ")))"
                )
            }
        }
    }

    mutating func makeSearch() {
        features.insert("FTS5 content table")
        let rowID = key == ["id"] ? "id" : "rowid"
        setup.append(
            "CREATE VIRTUAL TABLE search USING fts5(title, body, content=\(table.string), content_rowid=\(rowID.string))"
        )
        setup.append("INSERT INTO search(search) VALUES ('rebuild')")
        setup.append(
            "CREATE TRIGGER search_ai AFTER INSERT ON \(table.quoted) BEGIN "
                + "INSERT INTO search (rowid, title, body) VALUES (new.\(rowID), new.title, new.body); END"
        )
        setup.append(
            "CREATE TRIGGER search_ad AFTER DELETE ON \(table.quoted) BEGIN INSERT INTO search "
                + "(search, rowid, title, body) VALUES ('delete', old.\(rowID), old.title, old.body); END"
        )
    }

    mutating func makeTriggers() {
        let name = table.quoted
        let used = change == .drop ? "title" : "plain_old"
        if chance(3) {
            features.insert("trigger on it")
            setup.append(
                "CREATE TRIGGER t_first AFTER INSERT ON \(name) BEGIN INSERT INTO log VALUES ('1'); END"
            )
            setup.append(
                "CREATE TRIGGER t_second AFTER INSERT ON \(name) WHEN new.title IS NOT NULL BEGIN "
                    + "INSERT INTO log SELECT new.\(used) || ';' -- a comment;\n; END"
            )
        }
        if chance(3) {
            setup.append(
                "CREATE TRIGGER t_update BEFORE UPDATE OF \(used), body ON \(name) BEGIN "
                    + "SELECT CASE WHEN new.body = 'no' THEN RAISE(ABORT, 'no') END; END"
            )
        }
        if chance(4) {
            features.insert("trigger of another table")
            setup.append(
                "CREATE TRIGGER o_before AFTER DELETE ON author BEGIN INSERT INTO log VALUES ('gone'); END"
            )
            setup.append(
                "CREATE TRIGGER o_names AFTER DELETE ON author BEGIN "
                    + "UPDATE \(name) SET body = 'orphan' WHERE title = old.name; END"
            )
            setup.append(
                "CREATE TRIGGER o_after AFTER DELETE ON author BEGIN INSERT INTO log VALUES ('after'); END"
            )
        }
    }
}
