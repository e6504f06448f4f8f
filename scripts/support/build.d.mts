export function built(options?: { root?: string; onBuild?: () => void }): Promise<string>;
