// @ts-check: TypeScript reads the types in the comments.
// Migrates a store with a key that the program has: node store.mjs STORE FOLDER <KEY
import { spawn } from "node:child_process";
import { buffer, text } from "node:stream/consumers";

/** Why it failed: the tool's code, such as "wrongKey", and its exit code. */
export class MigrationError extends Error {
  /**
   * @param {string} code
   * @param {string} message
   * @param {number} exit
   * @param {string} [hint]
   */
  constructor(code, message, exit, hint) {
    super(message);
    this.report = { error: { code, message, exit, hint } };
    this.exit = exit;
  }
}

/**
 * What the tool reports.
 *
 * @param {string} store
 * @param {string} folder
 * @param {string | Buffer} key
 * @returns {Promise<{applied: {identifier: string, seconds: number}[], pending: string[], verified: boolean}>}
 */
export async function migrate(store, folder, key) {
  const words = ["migrate", "--db-path", store, "--migrations", folder, "--password-file", "-", "--json"];
  const tool = spawn("migrationkit-cli", words);
  tool.stdin.on("error", () => {}); // It says why it ended.
  tool.stdin.end(key);
  /** @type {Promise<string>} */
  const ended = new Promise((resolve, reject) => {
    tool.on("error", (error) => reject(new MigrationError("noTool", error.message, 127)));
    tool.on("close", (code, signal) => resolve(signal ?? String(code)));
  });
  const [out, errors, end] = await Promise.all([text(tool.stdout), text(tool.stderr), ended]);
  if (end === "0") return JSON.parse(out);
  const start = errors.search(/^\{/m);
  if (start < 0) throw new MigrationError("failed", `the tool ended with ${end}`, 70);
  const { error } = JSON.parse(errors.slice(start));
  throw new MigrationError(error.code, error.message, error.exit, error.hint);
}

const [store = "", folder = ""] = process.argv.slice(2);
try {
  console.log(0, JSON.stringify(await migrate(store, folder, await buffer(process.stdin))));
} catch (error) {
  const failure =
    error instanceof MigrationError ? error : new MigrationError("failed", String(error), 70);
  console.log(failure.exit, JSON.stringify(failure.report));
  process.exitCode = failure.exit;
}
