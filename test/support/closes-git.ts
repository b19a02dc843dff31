/** Closes a repository while it is still being asked, and says so when it is closed. */
import { openGit } from '../../src/git/git.ts';

const git = await openGit(process.argv[2]!);
const asked = git.resolve('HEAD');
await git.close();
console.log(`closed, ${(await asked)?.length}`);
