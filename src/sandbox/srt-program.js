/**
 * Says, as a line of shell, how srt confines a command. It has one policy for a whole process, so each command asks it in a
 * process of its own.
 *
 *   srt-program.js <module of srt> <settings> <command>
 */
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const [module, path, command] = process.argv.slice(2);
const settings = JSON.parse(readFileSync(path, 'utf8'));
const { SandboxManager } = await import(pathToFileURL(module).href);

// Whoever initializes it without ports of one's own gets proxies, which nobody needs: the way out is a door.
if (settings.network.httpProxyPort === undefined) SandboxManager.updateConfig(settings);
else await SandboxManager.initialize(settings);
process.stdout.write(await SandboxManager.wrapWithSandbox(command, 'sh'));
