import type { Counts } from "../counts.ts";

/** Number of contacts of a workspace by status. */
export const contactCounts: Counts = { table: "contact_counts", dimensions: ["workspace_id", "status"] };

/** Number of contacts of a workspace by tag. */
export const tagCounts: Counts = { table: "contact_tag_counts", dimensions: ["workspace_id", "tag"] };
