/** What a confined command sees of the disk, as the kernel tells it: see proc_pid_mountinfo(5). */

interface Mounts {
  write: string[];
  read: string[];
  /** Its own, in memory. */
  memory: string[];
  /** Covered: the place is there, and nothing in it. */
  hidden: string[];
}

const OF_THE_KERNEL = new Set(['proc', 'sysfs', 'devpts', 'mqueue', 'cgroup', 'cgroup2', 'devtmpfs']);
const isOfKernel = (path: string): boolean =>
  /^\/(?:proc|sys)(?:\/|$)|^\/dev(?:\/(?!shm$)[^/]+)?$/.test(path);

export function mountsIn(text: string): Mounts {
  const found: Mounts = { write: [], read: [], memory: [], hidden: [] };
  for (const line of text.split('\n').filter(Boolean)) {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , source = '', point = '', options = ''] = before.split(' ');
    const [type = ''] = after.split(' ');
    const path = unescaped(point);
    const isCovered = source === '/null';
    if ((OF_THE_KERNEL.has(type) && !isCovered) || isOfKernel(path) || path === '/') continue;
    const isWritable = options.split(',').includes('rw');
    const isEmpty = type === 'tmpfs' && source === '/';
    if (isCovered || (isEmpty && !isWritable)) found.hidden.push(path);
    else if (isEmpty) found.memory.push(path);
    else found[isWritable ? 'write' : 'read'].push(path);
  }
  for (const paths of Object.values(found)) paths.sort();
  return found;
}

/** A space is `\040`. */
const unescaped = (path: string): string =>
  path.replace(/\\([0-7]{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
