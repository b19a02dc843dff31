/** Who a confined command is, as programs look it up. */

export const passwd = (uid: number, gid: number, home: string): string =>
  `root:x:0:0:root:/:/usr/sbin/nologin\nforge:x:${uid}:${gid}:forge:${home.replaceAll(/[:\n]/g, '')}:/bin/sh\nnobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n`;
export const group = (gid: number): string => `root:x:0:\nforge:x:${gid}:\nnogroup:x:65534:\n`;
