import { readFile, writeFile } from "node:fs/promises";
import { pageFiles, withTables } from "#src/http/docs/documents.ts";
import { allTables } from "#src/http/docs/tables.ts";
import { settingDescriptions } from "#src/settings.ts";
import { realRoutes } from "#test/support/realRoutes.ts";

/** `npm run documents`: writes the tables of the pages under /docs into their files as the code has them now. A test fails until that is done. */
const tables = allTables({ routes: realRoutes(), settings: settingDescriptions });
for (const file of pageFiles) {
  const text = await readFile(file, "utf8");
  const made = withTables(text, tables, true);
  if (made !== text) {
    await writeFile(file, made);
    console.log(`${file.pathname}: updated`);
  }
}
process.exit(0);
