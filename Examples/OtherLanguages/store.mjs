// @ts-check: TypeScript reads the types in the comments.
// Migrates a store with a key that the program has: node store.mjs
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";

/**
 * What the tool reports; an error has the tool's code, such as "wrongKey".
 *
 * @param {string} store
 * @param {string} folder
 * @param {string} key
 * @returns {Promise<{applied: {identifier: string, seconds: number}[], pending: string[], verified: boolean}>}
 */
export async function migrate(store, folder, key) {
  const words = ["migrate", "--db-path", store, "--migrations", folder, "--password-file", "-", "--json"];
  const tool = spawn("migrationkit-cli", words);
  tool.stdin.on("error", () => {}); // It says why it ended.
  tool.stdin.end(key);
  const ended = new Promise((resolve, reject) => tool.on("error", reject).on("close", resolve));
  const [out, errors, code] = await Promise.all([text(tool.stdout), text(tool.stderr), ended]);
  if (code === 0) return JSON.parse(out);
  const { error } = JSON.parse(errors.slice(errors.indexOf("{")));
  throw Object.assign(new Error(error.message), error);
}

const [store, folder] = process.argv.slice(2);
try {
  console.log(0, JSON.stringify(await migrate(store, folder, await text(process.stdin))));
} catch (error) {
  console.log(error.exit, JSON.stringify({ error }));
  process.exitCode = error.exit;
}
