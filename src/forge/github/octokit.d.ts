/**
 * The part of Octokit we use: routes are sent as text, and every answer is checked with zod, so that nothing is believed
 * of GitHub because a generated type says so.
 */
declare module '@octokit/rest' {
  interface Answer {
    status: number;
    data: unknown;
    headers: Record<string, string | undefined>;
  }
  export class Octokit {
    static plugin(...plugins: unknown[]): typeof Octokit;
    constructor(options: {
      baseUrl: string;
      userAgent: string;
      log: Record<'debug' | 'info' | 'warn' | 'error', (message: string) => void>;
      throttle: {
        enabled: boolean;
        onRateLimit(): boolean;
        onSecondaryRateLimit(): boolean;
      };
      retry: { retries: number; doNotRetry: number[] };
    });
    request(route: string, params: Record<string, unknown>): Promise<Answer>;
  }
}

declare module '@octokit/plugin-throttling' {
  export const throttling: unknown;
}

declare module '@octokit/plugin-retry' {
  export const retry: unknown;
}
