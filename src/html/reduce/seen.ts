const shapeless = /[\u115f\u1160\u3164\uffa0\u2800]|\p{Default_Ignorable_Code_Point}/gu;

/** Whether there is something to read: not only blanks and characters without a shape. */
export const isSeen = (text: string): boolean => /[\p{L}\p{N}\p{P}\p{S}]/u.test(text.replace(shapeless, ""));

/** Whether anything at all is drawn for it, if only a lone accent or a box for a character that no font has. */
export const isDrawn = (text: string): boolean => /[^\s\p{Cc}]/u.test(text.replace(shapeless, ""));
