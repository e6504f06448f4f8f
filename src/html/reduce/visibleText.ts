const shapeless = /[\u115f\u1160\u3164\uffa0\u2800]|\p{Default_Ignorable_Code_Point}/gu;

/** True if the text has something to read: more than blanks and characters without a shape. */
export const hasVisibleText = (text: string): boolean => /[\p{L}\p{N}\p{P}\p{S}]/u.test(text.replace(shapeless, ""));

/** True if anything is drawn for it, even a lone accent or a box for a missing character. */
export const isDrawn = (text: string): boolean => /[^\s\p{Cc}]/u.test(text.replace(shapeless, ""));
