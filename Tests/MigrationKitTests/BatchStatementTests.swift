import MigrationKit
import Testing

/// Statements are limited to a range of keys, or are refused with a reason.
@Suite struct BatchStatementTests {
    private func limited(_ sql: String) throws -> String {
        try BatchStatement(sql).sql("NOT INDEXED") { "\($0).rowid < 9" }
            .split(separator: "\n").map { $0.trimmingPrefix { $0 == " " } }.joined(separator: " ")
    }

    @Test(arguments: [
        (
            "UPDATE t SET a = 1 WHERE a IS NULL",
            "UPDATE t NOT INDEXED SET a = 1  WHERE ( a IS NULL ) AND t.rowid < 9"
        ),
        ("UPDATE t SET a = 1;", "UPDATE t NOT INDEXED SET a = 1 WHERE t.rowid < 9"),
        (
            "update or ignore main.\"my t\" as q set a = (select 1 where 2) where a or b",
            "update or ignore main.\"my t\" as q NOT INDEXED set a = (select 1 where 2)  WHERE ( a or b ) "
                + "AND q.rowid < 9"
        ),
        (
            "DELETE FROM t WHERE a = 1 -- one\n OR b = 2 -- all",
            "DELETE FROM t NOT INDEXED  WHERE ( a = 1 -- one OR b = 2 ) AND t.rowid < 9"
        ),
        (
            "WITH c AS (SELECT k FROM s WHERE k) UPDATE t SET a = 1 FROM s JOIN c ON c.k = s.k WHERE s.k = t.a",
            "WITH c AS (SELECT k FROM s WHERE k) UPDATE t NOT INDEXED SET a = 1 FROM s JOIN c ON c.k = s.k "
                + " WHERE ( s.k = t.a ) AND t.rowid < 9"
        ),
        (
            "INSERT INTO s (x) SELECT max(a, b) FROM t AS q LEFT JOIN u ON u.a = q.a WHERE q.b",
            "INSERT INTO s (x) SELECT max(a, b) FROM t AS q NOT INDEXED LEFT JOIN u ON u.a = q.a  WHERE ( q.b "
                + ") AND q.rowid < 9"
        ),
        (
            "INSERT INTO s SELECT (SELECT count(*) FROM u) FROM t q WHERE true ON CONFLICT DO NOTHING",
            "INSERT INTO s SELECT (SELECT count(*) FROM u) FROM t q NOT INDEXED  WHERE ( true  ) "
                + "AND q.rowid < 9 ON CONFLICT DO NOTHING"
        ),
        (
            "INSERT INTO s SELECT a FROM t WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.a = t.a)",
            "INSERT INTO s SELECT a FROM t NOT INDEXED  WHERE ( NOT EXISTS (SELECT 1 FROM s WHERE s.a = t.a) "
                + ") AND t.rowid < 9"
        ),
        (
            "UPDATE t SET a = 1, t = 2 WHERE b > (SELECT avg(b) FROM s)",
            "UPDATE t NOT INDEXED SET a = 1, t = 2  WHERE ( b > (SELECT avg(b) FROM s) ) AND t.rowid < 9"
        ),
        (
            "INSERT OR IGNORE INTO s SELECT a FROM [t];",
            "INSERT OR IGNORE INTO s SELECT a FROM [t] NOT INDEXED WHERE [t].rowid < 9"
        ),
    ])
    func conditionGetsARange(_ sql: String, _ expected: String) throws {
        #expect(try limited(sql) == expected)
    }

    @Test(arguments: [
        ("SELECT 1", "it must be UPDATE"),
        ("CREATE TABLE t (a)", "it must be UPDATE"),
        ("EXPLAIN UPDATE t SET a = 1", "it must be UPDATE"),
        ("", "it must be UPDATE"),
        ("UPDATE t SET a = 1 RETURNING a", "RETURNING"),
        ("UPDATE t SET a = 1 WHERE b ORDER BY c LIMIT 5", "ORDER BY and LIMIT"),
        ("UPDATE t INDEXED BY i SET a = 1", "INDEXED"),
        ("UPDATE other.t SET a = 1", "isn't in the database"),
        ("UPDATE t SET a = ?", "a parameter"),
        ("UPDATE t SET a = :value", "a parameter"),
        ("DELETE FROM t WHERE a = @b", "a parameter"),
        ("INSERT INTO t VALUES (1)", "from a table"),
        ("INSERT INTO t DEFAULT VALUES", "from a table"),
        ("INSERT INTO t SELECT 1", "from a table"),
        ("INSERT INTO t SELECT a FROM (SELECT 1 AS a)", "must read a table first"),
        ("INSERT INTO t SELECT value FROM json_each('[]')", "must read a table first"),
        ("INSERT INTO t SELECT a FROM u UNION SELECT b FROM v", "UNION"),
        ("INSERT INTO t SELECT a FROM u GROUP BY a", "GROUP"),
        ("INSERT INTO t SELECT DISTINCT a FROM u", "DISTINCT"),
        ("INSERT INTO t SELECT count(*) FROM u", "depends on all rows"),
        ("INSERT INTO t SELECT coalesce(sum(a), 0) FROM u", "depends on all rows"),
        ("INSERT INTO t SELECT max(a) FROM u", "depends on all rows"),
        ("INSERT INTO t SELECT row_number() OVER (ORDER BY a) FROM u", "depends on all rows"),
        ("INSERT INTO t SELECT a FROM u RIGHT JOIN v USING (a)", "first table"),
        ("REPLACE INTO t SELECT a FROM u", "REPLACE"),
        ("INSERT OR REPLACE INTO t SELECT a FROM u", "REPLACE"),
        ("UPDATE OR REPLACE t SET a = 1", "REPLACE"),
        ("WITH u AS (SELECT 5 AS a) INSERT INTO t SELECT a FROM u", "read a table first"),
        ("UPDATE t SET a = (SELECT max(b) FROM T) WHERE a IS NULL", "reads the table"),
        ("DELETE FROM t WHERE a > (SELECT avg(a) FROM main.t)", "reads the table"),
        ("DELETE FROM t WHERE EXISTS (SELECT 1 FROM t AS x WHERE x.a = t.a)", "reads the table"),
        ("UPDATE t SET a = x.b FROM s, \"t\" AS x WHERE x.c = t.c", "reads the table"),
        ("WITH c AS (SELECT count(*) AS n FROM t) UPDATE t SET a = n FROM c", "reads the table"),
        ("INSERT INTO t SELECT a FROM t", "reads the table"),
        ("INSERT INTO t SELECT (SELECT count(*) FROM t) FROM u", "reads the table"),
    ])
    func whatHasNoRangeIsRefused(_ sql: String, _ reason: String) throws {
        let refusal = #expect(throws: BatchStatement.Obstacle.self) { try BatchStatement(sql) }
        #expect(refusal?.reason.contains(reason) == true, "\(refusal?.reason ?? "")")
    }

    @Test(arguments: [
        ("INSERT INTO s SELECT a FROM t", false),
        ("INSERT INTO s SELECT a FROM t AS q WHERE a", false),
        ("INSERT INTO s SELECT a FROM t WHERE true ON CONFLICT DO NOTHING", false),
        ("INSERT INTO s SELECT a FROM t JOIN u", true),
        ("INSERT INTO s SELECT a FROM t q, u WHERE b", true),
        ("UPDATE t SET a = 1", false),
    ])
    func furtherTablesAreKnown(_ sql: String, _ hasFurtherTables: Bool) throws {
        #expect(try BatchStatement(sql).hasFurtherTables == hasFurtherTables)
    }

    @Test func tableIsNamedWithoutItsQuotes() throws {
        #expect(try BatchStatement("DELETE FROM \"a \"\"b\"").table == "a \"b")
        #expect(try BatchStatement("INSERT INTO s SELECT 1 FROM main.U AS v").table == "U")
    }
}
