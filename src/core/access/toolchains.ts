/**
 * What children get of the operator's environment and home: what toolchains and networks need, by name, and what the
 * operator names besides.
 *
 * The rule of both lists: where a tool is and how it reaches the network is passed on; what proves who somebody is, and
 * what a tool writes to (caches, registries, `CARGO_HOME`, `GOPATH`), is not. The operator may name those too.
 */

/** For one kind of child. */
export interface ChildPolicy {
  /** Names of the operator's variables; one of ours may end in `*`. */
  pass: readonly string[];
  set: Readonly<Record<string, string>>;
  home: 'private' | 'operator';
  /** Paths below the operator's home that a private home has too. */
  homeEntries: readonly string[];
}

/** Variables that are passed on where the operator has them. None of them looks like a secret, whatever `*` stands for. */
export const TOOLCHAIN_VARIABLES: readonly string[] = [
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'FTP_PROXY',
  'ALL_PROXY',
  'NO_PROXY',
  'http_proxy',
  'https_proxy',
  'ftp_proxy',
  'all_proxy',
  'no_proxy',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
  'NODE_EXTRA_CA_CERTS',
  'NODE_USE_SYSTEM_CA',
  'REQUESTS_CA_BUNDLE',
  'CURL_CA_BUNDLE',
  'PIP_CERT',
  'CARGO_HTTP_CAINFO',
  'DENO_CERT',
  'NIX_SSL_CERT_FILE',
  'GIT_SSL_CAINFO',
  'GIT_SSL_CAPATH',
  'JAVA_HOME',
  'JDK_HOME',
  'JAVA_TOOL_OPTIONS',
  'MAVEN_HOME',
  'M2_HOME',
  'MAVEN_OPTS',
  'GRADLE_HOME',
  'GRADLE_OPTS',
  'SBT_OPTS',
  'SDKMAN_DIR',
  'KOTLIN_HOME',
  'SCALA_HOME',
  'ANDROID_HOME',
  'ANDROID_SDK_ROOT',
  'ANDROID_NDK_HOME',
  'FLUTTER_ROOT',
  'DOTNET_ROOT',
  'MSBuildSDKsPath',
  'GOROOT',
  'GOPROXY',
  'GONOPROXY',
  'GOPRIVATE',
  'GOSUMDB',
  'GONOSUMDB',
  'GOFLAGS',
  'GOTOOLCHAIN',
  'RUSTUP_HOME',
  'RUSTUP_TOOLCHAIN',
  'RUSTUP_DIST_SERVER',
  'RUSTUP_UPDATE_ROOT',
  'NVM_DIR',
  'NVM_BIN',
  'FNM_DIR',
  'FNM_MULTISHELL_PATH',
  'VOLTA_HOME',
  'PNPM_HOME',
  'BUN_INSTALL',
  'PYENV_ROOT',
  'PYENV_VERSION',
  'VIRTUAL_ENV',
  'CONDA_PREFIX',
  'CONDA_DEFAULT_ENV',
  'RBENV_ROOT',
  'RBENV_VERSION',
  'GEM_PATH',
  'ASDF_*',
  'MISE_*',
  'ELAN_HOME',
  'JULIAUP_DEPOT_PATH',
  'NIX_PATH',
  'NIX_PROFILES',
  'HOMEBREW_PREFIX',
  'PKG_CONFIG_PATH',
  'LD_LIBRARY_PATH',
  'DYLD_FALLBACK_LIBRARY_PATH',
  'CC',
  'CXX',
];

/** Entries of the operator's home that tools look for below `~`, and that hold tools and their settings. */
export const TOOLCHAIN_ENTRIES: readonly string[] = [
  '.rustup',
  '.cargo/config.toml',
  '.cargo/config',
  '.elan',
  '.juliaup',
  '.config/go/env',
  '.nvm',
  '.volta',
  '.pyenv',
  '.rbenv',
  '.sdkman',
  '.asdf',
  '.asdfrc',
  '.tool-versions',
  '.local/share/mise',
  '.config/mise/config.toml',
];

/** Entries that builds ask for and that hold credentials, or well may: only where the operator names them. */
export const CREDENTIAL_ENTRIES: readonly string[] = [
  '.npmrc',
  '.yarnrc',
  '.yarnrc.yml',
  '.netrc',
  '.pypirc',
  '.config/pip/pip.conf',
  '.pip/pip.conf',
  '.cargo/credentials.toml',
  '.cargo/credentials',
  '.m2/settings.xml',
  '.m2/settings-security.xml',
  '.gradle/gradle.properties',
  '.gem/credentials',
  '.bundle/config',
  '.composer/auth.json',
  '.nuget/NuGet/NuGet.Config',
  '.docker',
  '.ssh',
  '.aws',
  '.kube',
  '.config/gh',
  '.config/gcloud',
  '.gnupg',
  '.git-credentials',
];

/** Whether a variable of this name probably holds a secret. */
export const looksSecret = (name: string): boolean =>
  /TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|AUTH|API_?KEY|ACCESS_?KEY|_KEY$|_PAT$/i.test(name);

/** Whether an entry of the home is, holds, or lies in one that is known for credentials. */
export const looksCredential = (entry: string): boolean =>
  CREDENTIAL_ENTRIES.some((known) => isWithin(entry, known) || isWithin(known, entry));

/** Whether one path is the other or lies below it. */
export const isWithin = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(`${folder}/`);

/**
 * Variables that the loop sets itself: where a child lives, what its git reads, by which mark it is found again. What
 * the list above names is only passed on.
 */
export const isOurs = (name: string): boolean =>
  !TOOLCHAIN_VARIABLES.includes(name) && /^(?:HOME|XDG_\w+_HOME|GIT_\w+|FORGE_\w+)$/.test(name);

/** The variables of `operator` that a child gets. */
export function passedOn(
  operator: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
): Record<string, string> {
  const wanted = names.flatMap((name) => {
    if (!name.endsWith('*')) return [name];
    const begins = name.slice(0, -1);
    return Object.keys(operator).filter((one) => one.startsWith(begins) && !looksSecret(one));
  });
  return Object.fromEntries(
    wanted.flatMap((name) => {
      const value = operator[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
