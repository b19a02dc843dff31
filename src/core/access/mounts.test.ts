import { expect, test } from 'vitest';
import { mountsIn } from './mounts.ts';

test('what the kernel says of mounts, by what one may do there', () => {
  const told = [
    '730 700 0:60 / / ro,nosuid,nodev,relatime - tmpfs tmpfs rw,mode=755',
    '731 730 253:0 /usr /usr ro,nosuid,nodev,relatime - ext4 /dev/root rw',
    '732 730 0:70 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw',
    '733 732 0:21 /sys /proc/sys ro,relatime - proc proc rw',
    '734 730 0:71 / /dev ro,nosuid,nodev,relatime - tmpfs tmpfs rw,mode=755',
    '735 734 0:6 /null /dev/null rw,nosuid - devtmpfs devtmpfs rw',
    '736 730 0:72 / /tmp rw,nosuid,nodev,relatime - tmpfs tmpfs rw,size=100k',
    '737 734 0:73 / /dev/shm rw,nosuid,nodev,relatime - tmpfs tmpfs rw,size=100k',
    '738 731 0:74 / /etc/ssh ro,nosuid,nodev,relatime - tmpfs tmpfs rw',
    '739 731 0:6 /null /etc/shadow ro,nosuid - devtmpfs devtmpfs rw',
    '740 730 253:0 /home/a/work\\040space /home/a/work\\040space rw,nosuid,nodev - ext4 /dev/root rw',
    '741 730 0:25 /ci/home /dev/shm/ci/home rw,nosuid - tmpfs tmpfs rw,size=100k',
    '',
  ];
  expect(mountsIn(told.join('\n'))).toEqual({
    write: ['/dev/shm/ci/home', '/home/a/work space'],
    read: ['/usr'],
    memory: ['/dev/shm', '/tmp'],
    hidden: ['/etc/shadow', '/etc/ssh'],
  });
});
