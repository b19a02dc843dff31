import { digestOf } from './digest.ts';

/** Readable and safe in a path and a branch name; names that reduce to nothing or were cut stay apart by a digest. */
export function slugOf(title: string): string {
  const plain = title
    .normalize('NFKD')
    .replace(/[^\x20-\x7e]/g, '')
    .toLowerCase();
  const slug = plain.replace(/[^a-z0-9]+/g, '-').replace(/^-+|-+$/g, '');
  if (slug.length > 0 && slug.length <= 40 && plain === title.toLowerCase()) return slug;
  const digest = digestOf(title, 6);
  const cut = slug.slice(0, 40).replace(/-+$/, '');
  return cut ? `${cut}-${digest}` : digest;
}
