/** How often each tool was called: an agent that goes round in circles must not flood the loop. */
export interface Calls {
  /** False when it was called too often. */
  take(tool: string, most: number): boolean;
  says(tool: string, most: number): string;
}

/** `perMs` is null where a process serves one client: then it is all calls of its life. */
export function countCalls(now: () => number, perMs: number | null): Calls {
  const taken = new Map<string, number[]>();
  return {
    take(tool, most) {
      const since = perMs === null ? Number.NEGATIVE_INFINITY : now() - perMs;
      const recent = (taken.get(tool) ?? []).filter((at) => at > since);
      taken.set(tool, recent);
      if (recent.length >= most) return false;
      recent.push(now());
      return true;
    },
    says: (tool, most) =>
      perMs === null
        ? `${tool} was called ${most} times, which is all this server allows (server.mcp.max_calls). Go on with what you know.`
        : `${tool} was called ${most} times lately, which is all this server allows (server.mcp.max_calls). Try again later.`,
  };
}
