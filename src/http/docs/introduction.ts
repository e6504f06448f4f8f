import { documentText, pageOf, withTables } from "./documents.ts";
import { fixedTables } from "./tables.ts";

/** The front of the OpenAPI document, in Markdown: what an agent's author reads first. Its tables are made from what they tell of. */
export const introduction = (): string =>
  withTables(documentText("introduction"), fixedTables()).replaceAll(/(?<=\]\()[\w-]+\.md[^)]*/g, pageOf);
