import Foundation
import TestSupport
import Testing

/// The schema is as strict as it says, and says all that there is. That what the commands print
/// follows it is tested where it is printed, in `OutputSnapshotTests`.
@Suite struct JSONSchemaTests {
    /// What the scenes have printed, with other times and durations.
    private static func documents() throws -> [DocumentSchema.Document] {
        let folder = PackageFolder.path(DocumentSchema.outputSnapshots)
        return try FileManager.default.contentsOfDirectory(atPath: folder).sorted().flatMap {
            DocumentSchema.documents(
                in: try String(contentsOfFile: "\(folder)/\($0)", encoding: .utf8)
            )
        }
    }

    @Test func schemaIsOne() throws {
        #expect(try DocumentSchema.run("Draft202012Validator.check_schema(schema)", []) == "")
    }

    /// The descriptions are the documentation.
    @Test func everyKeyIsDescribed() throws {
        let program = """
            def look(name, part):
                target = schema["$defs"].get(part.get("$ref", "").rsplit("/", 1)[-1], {})
                if "description" not in part and "description" not in target:
                    print(name)
                for key, value in part.get("properties", {}).items():
                    look(f"{name}.{key}", value)
                if isinstance(part.get("items"), dict) and "properties" in part["items"]:
                    look(f"{name}[]", part["items"])

            for name, part in schema["$defs"].items():
                look(name, part)
            """
        #expect(try DocumentSchema.run(program, []) == "")
    }

    @Test func documentsFollowTheSchema() throws {
        let documents = try Self.documents()
        #expect(documents.count > 50)
        #expect(try DocumentSchema.complaints(about: documents) == "")
    }

    /// Every key of every document is taken away, has another type, and gets a neighbour.
    @Test func whatIsChangedIsRefused() throws {
        let program = """
            def changes(value, free=False):
                if isinstance(value, dict):
                    if not free:
                        yield "has one more", lambda v: v.update(unexpected=1), ()
                    for key in value:
                        def take(v, key=key): v.pop(key)
                        def retype(v, key=key): v[key] = {"unexpected": 1}
                        yield f"lacks {key}", take, ()
                        yield f"has another {key}", retype, ()
                        # The rows of 'query' have the columns that somebody asked for.
                        if key == "rows" and isinstance(value[key], list):
                            continue
                        for what, change, way in changes(value[key], key == "attributes"):
                            yield what, change, (key, *way)
                elif isinstance(value, list):
                    for index, item in enumerate(value[:2]):
                        for what, change, way in changes(item):
                            yield what, change, (index, *way)

            # What a document may leave out; some keys in the documents of one command only.
            optional = json.loads('''
                {"database": 1, "recorded": 1, "source": 1, "appliedAt": 1, "seconds": 1, "sql": 1,
                 "checksum": 1, "keySource": 1, "hint": 1, "account": 1, "form": 1, "created": 1,
                 "modified": 1, "primaryKey": 1, "default": 1, "generated": 1, "original": 1,
                 "linkTarget": 1, "owner": 1, "possiblePageSizes": 1, "latest": 1, "ledger": 1,
                 "older": 1, "reasons": 1, "appVersion": 1, "backup": 1, "backups": 1, "newer": 1,
                 "oldestWorking": 1, "downgrade column": 1, "downgrade-dry-run column": 1,
                 "damage": 1, "logFrame": 1, "detail": 1, "counter": 1, "mismatch": 1,
                 "otherTools": 1, "isNew": 1, "wouldRecord": 1, "notTried": 1, "notes": 1,
                 "create-to identifier": 1, "create-to provedRows": 1, "create-to column": 1,
                 "create-to before": 1, "create-to after": 1,
                 "schema-diff column": 1, "schema-diff before": 1, "schema-diff after": 1,
                 "key-rotate kept": 1, "key-find role": 1, "key-doctor nextStep": 1, "key-find item": 1, "key-find file": 1,
                 "restore formerKey": 1, "key-import item": 1, "key-import output": 1,
                 "key-import notation": 1, "key-find notation": 1,
                 "inspect salt": 1, "inspect plaintextHeader": 1, "inspect multipleCiphers": 1,
                 "inspect plaintextHeaderSize": 1, "upgrade-dry-run plaintextHeaderSize": 1,
                 "inspect openIn": 1, "inspect name": 1,
                 "inspect pageSize": 1, "inspect tables": 1, "inspect rows": 1,
                 "inspect unfinishedChange": 1, "inspect leftovers": 1, "version fixedIn": 1,
                 "lint file": 1, "lint line": 1, "lint column": 1, "lint fix": 1,
                 "test file": 1, "test line": 1, "test column": 1, "test reason": 1, "test message": 1,
                 "test difference": 1, "test fix": 1,
                 "verify note": 1, "verify findings": 1, "verify unlisted": 1,
                 "verify engineFaults": 1,
                 "fleet shard": 1, "fleet version": 1, "fleet-report version": 1,
                 "status drift": 1, "status driftNote": 1, "repair-schema column": 1,
                 "repair-schema rows": 1, "repair-schema output": 1,
                 "verify table": 1, "verify rowid": 1, "verify page": 1,
                 "explain command": 1, "plan requirements": 1, "plan checks": 1, "plan batches": 1,
                 "plan rows": 1, "status begun": 1, "checks requirements": 1,
                 "checks checks": 1, "rehearse report": 1, "rehearse failed": 1,
                 "rehearse bytesAfter": 1, "rehearse note": 1, "rehearse findings": 1,
                 "rehearse unlisted": 1, "rehearse table": 1, "rehearse rowid": 1,
                 "rehearse page": 1, "tables rows": 1, "tables problem": 1}
            ''')
            for command in ["encrypt", "decrypt", "rekey", "upgrade"]:
                optional[command + " output"] = 1
            for key in ["journal", "lostAndFound", "name", "mostLostRows", "page", "after",
                        "through", "mostRows", "lastPage", "saltSource", "wrongPageCount",
                        "leftOut", "rowsWith", "rowsWithout", "unnamedReason"]:
                optional["salvage " + key] = 1
            count = 0
            for document in documents:
                value = json.loads(document["text"])
                check = validator(document["definition"])
                for what, change, way in changes(value):
                    key = what.split()[-1]
                    if what.startswith("lacks") and (
                            key in optional or f"{document['definition']} {key}" in optional
                            or "attributes" in way):
                        continue
                    changed = copy.deepcopy(value)
                    place = changed
                    for step in way:
                        place = place[step]
                    change(place)
                    count += 1
                    if check.is_valid(changed):
                        print(document["definition"], "/".join(map(str, way)), what)
            assert count > 500, count
            """
        let accepted = try DocumentSchema.run(program, Self.documents())
        #expect(accepted == "")
    }

    /// What is described is printed: by some command in some scene.
    @Test func everyKeyIsSeen() throws {
        let program = """
            def resolved(part):
                while "$ref" in part:
                    part = schema["$defs"][part["$ref"].rsplit("/", 1)[1]]
                return part

            def described(part, way):
                part = resolved(part)
                for key, value in part.get("properties", {}).items():
                    yield f"{way}.{key}"
                    yield from described(value, f"{way}.{key}")
                if "items" in part:
                    yield from described(part["items"], f"{way}[]")

            def seen(value, way):
                if isinstance(value, dict):
                    for key in value:
                        yield f"{way}.{key}"
                        yield from seen(value[key], f"{way}.{key}")
                elif isinstance(value, list):
                    for item in value:
                        yield from seen(item, f"{way}[]")

            expected = set()
            for part in schema["anyOf"]:
                name = part["$ref"].rsplit("/", 1)[1]
                expected |= set(described(part, name))
            found = set()
            for document in documents:
                found |= set(seen(json.loads(document["text"]), document["definition"]))
            for way in sorted(expected - found):
                print(way)
            """
        let unseen = try DocumentSchema.run(program, Self.documents())
        #expect(unseen == "")
    }

    /// The codes of errors, each with its exit code, are those of the source.
    @Test func everyErrorCodeIsInTheSchema() throws {
        let program = """
            kinds = schema["$defs"]["error"]["properties"]["error"]["oneOf"]
            for kind in kinds:
                code, exit = kind["properties"]["code"], kind["properties"]["exit"]
                for word in code.get("enum", [code.get("const")]):
                    for number in exit.get("enum", [exit.get("const")]):
                        print(word, number)
            """
        let described = try DocumentSchema.run(program, []).split(separator: "\n").map(String.init)

        var inSource: Set = ["usage 64", "stepFailed 1", "interrupted 129", "interrupted 143"]
        for folder in ["Sources", "Keys"].map({ PackageFolder.path($0) }) {
            let files = try #require(FileManager.default.enumerator(atPath: folder))
            for case let file as String in files where file.hasSuffix(".swift") {
                let text = try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
                for match in text.matches(of: /ErrorCode\(\s*"([a-zA-Z]+)",\s+\.([a-zA-Z]+)\s*\)/) {
                    let status = try #require(Self.statuses[String(match.2)], "\(match.2)")
                    inSource.insert("\(match.1) \(status)")
                }
                guard folder.hasSuffix("Sources"), file.hasPrefix("MigrationKitCLI/") else {
                    continue
                }
                // Those that no error carries: of SQLite, of the parser, of a signal.
                for match in text.matches(of: /"([a-zA-Z]+)",\s+([0-9]+)\b/) {
                    inSource.insert("\(match.1) \(match.2)")
                }
            }
        }
        inSource.remove("interrupted 128")
        #expect(described.sorted() == inSource.sorted())
    }

    /// The exit statuses by their names in the source.
    private static let statuses = [
        "failed": 1, "verificationFailed": 2, "differs": 3, "usage": 64, "dataError": 65,
        "noInput": 66, "unavailable": 69, "cannotCreate": 73, "inputOutput": 74, "busy": 75,
        "noPermission": 77,
    ]
}
