export const projectRoot: string;
export const commands: Record<string, string>;
export function bundle(entries?: string[], options?: { root?: string; folders?: string[] }): Promise<string>;
export function bundled(place: string, file: string): string;
export function programIn(place: string): string;
export function touched(place: string): Promise<string>;
