import { spawnSync } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { pageFiles, withTables } from "#src/http/docs/documents.ts";
import { allTables } from "#src/http/docs/tables.ts";
import { settingDescriptions } from "#src/settings/settings.ts";
import { realRoutes } from "#test/support/realRoutes.ts";
import { envExample } from "./support/envFile.ts";

/**
 * `npm run documents`: writes the tables of the pages under /docs, and `.env.example`, from the current code. A test fails while they
 * differ. With `story` it also plays the story of an agent and writes the transcript; the test that compares the transcript plays it.
 */
const tables = allTables({ routes: realRoutes(), settings: settingDescriptions });
for (const file of pageFiles) {
  const text = await readFile(file, "utf8");
  const made = withTables(text, tables, true);
  if (made !== text) {
    await writeFile(file, made);
    console.log(`${file.pathname}: updated`);
  }
}
await writeFile(".env.example", envExample(settingDescriptions));
if (process.argv[2] === "story") {
  const { status } = spawnSync("npm", ["test", "--", "test/http/mcp/story.test.ts"], {
    stdio: "inherit",
    env: { ...process.env, WRITE_STORY: "1" },
  });
  process.exit(status ?? 1);
}
process.exit(0);
