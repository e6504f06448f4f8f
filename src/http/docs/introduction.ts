import { documentText, pageOf, withTables } from "./documents.ts";
import { fixedTables } from "./tables.ts";

/** The introduction of the OpenAPI document, in Markdown, for authors of agents. Its tables are generated. */
export const introduction = (): string =>
  withTables(documentText("introduction"), fixedTables()).replaceAll(/(?<=\]\()[\w-]+\.md[^)]*/g, pageOf);
