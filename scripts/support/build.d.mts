export function built(root?: string): Promise<string>;
