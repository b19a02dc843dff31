/** What a route answers, and how lists and errors look on the wire. */
import { says } from './error-texts.ts';

export interface Answer {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
  /** A body that is not JSON: a diff, a log. */
  text?: string;
}

export const ok = (body: unknown): Answer => ({ status: 200, body });
export const created = (body: unknown): Answer => ({ status: 201, body });
export const gone: Answer = { status: 204 };

/** Thrown by routes; becomes the JSON that GitHub sends. */
export class Refusal extends Error {
  override name = 'Refusal';
  readonly status: number;
  readonly errors: unknown[];
  readonly headers: Record<string, string>;
  constructor(status: number, message: string, errors: unknown[] = [], headers: Record<string, string> = {}) {
    super(message);
    this.status = status;
    this.errors = errors;
    this.headers = headers;
  }
}

export const notFound = (): Refusal => new Refusal(404, says('notFound'));

/** As validation answers for a field: `{ resource, field, code }`. */
export function invalid(resource: string, field: string, code: string, message?: string): Refusal {
  return new Refusal(422, says('invalid'), [{ resource, field, code, ...(message ? { message } : {}) }]);
}

export interface Page {
  page: number;
  perPage: number;
}

/** Thirty a page unless asked, a hundred at most. */
export function pageOf(query: URLSearchParams): Page {
  const number = (name: string, fallback: number) => {
    const given = Number.parseInt(query.get(name) ?? '', 10);
    return Number.isNaN(given) || given < 1 ? fallback : given;
  };
  return { page: number('page', 1), perPage: Math.min(100, number('per_page', 30)) };
}

/** One page of a list with its Link header; `wrap` is for lists inside an object. */
export function list(
  url: URL,
  all: readonly unknown[],
  wrap: (rows: readonly unknown[]) => unknown = (rows) => rows,
): Answer {
  const { page, perPage } = pageOf(url.searchParams);
  const last = Math.max(1, Math.ceil(all.length / perPage));
  const link = (to: number, rel: string): string => {
    const target = new URL(url);
    target.searchParams.set('page', String(to));
    return `<${target.href}>; rel="${rel}"`;
  };
  const links = [
    ...(page > 1 ? [link(page - 1, 'prev')] : []),
    ...(page < last ? [link(page + 1, 'next'), link(last, 'last')] : []),
    ...(page > 1 ? [link(1, 'first')] : []),
  ];
  return {
    status: 200,
    body: wrap(all.slice((page - 1) * perPage, page * perPage)),
    ...(links.length > 0 ? { headers: { link: links.join(', ') } } : {}),
  };
}
