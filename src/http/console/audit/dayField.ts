import { type FieldOptions, field } from "#src/html/forms.ts";
import type { Markup } from "#src/html/html.ts";

/** A field for a day. One that is wrong is shown again as it was typed, which a date input would drop. */
export const dayField = (options: FieldOptions): Markup =>
  field({ ...options, type: options.error === undefined ? "date" : "text", hint: "A day in UTC" });
