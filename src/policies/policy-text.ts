import { RateLimitConfigurationError, mismatch } from './configuration-error.js';

const EXPECTED =
  "'<algorithm>:<limit>/<window>[,burst=<n>][,maxDelay=<duration>]', such as 'token-bucket:60/1m' or 'gcra:60/1m,burst=10'";

/**
 * The options that a policy's text form stands for, for `definePolicy` to check. Throws a
 * RateLimitConfigurationError when the form is not that of a policy.
 */
export function parsePolicyText(text: string, option: string): Record<string, unknown> {
  const [head = '', ...parameters] = text.slice(0, 256).split(',');
  const [, algorithm, limit, window] =
    /^([a-z-]+):([0-9]{1,16})\/([0-9]{1,16}[a-z]+)$/.exec(head) ?? [];
  if (algorithm === undefined) throw malformed(text, option);

  const options: Record<string, unknown> = { algorithm, limit: Number(limit), window };
  for (const parameter of parameters) {
    const [, name, value] = /^(burst|maxDelay)=([0-9]{1,16}[a-z]*)$/.exec(parameter) ?? [];
    if (name === undefined || name in options) throw malformed(text, option);
    options[name] = /[a-z]$/.test(value!) && name === 'maxDelay' ? value : wholeOr(value!);
  }
  return options;
}

/** Text that is no whole number is passed on, for the check of the option to name. */
function wholeOr(value: string): number | string {
  return /^[0-9]+$/.test(value) ? Number(value) : value;
}

function malformed(text: string, option: string): RateLimitConfigurationError {
  return new RateLimitConfigurationError(option, mismatch(text, EXPECTED));
}
