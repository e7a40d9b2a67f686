'use strict';
const yaml = require('js-yaml');
const { text, rnd, WORDS } = require('../lib/sample.cjs');
// Stands for a file of 3 MB that is read at start.
function policyFile() {
  const out = ['version: 3', 'namespaces:'];
  for (let n = 0; n < 420; n++) {
    out.push('  - name: ns-' + n, '    owner: ' + WORDS[rnd(26)], '    rules:');
    for (let r = 0; r < 22; r++) out.push('      - id: ns-' + n + '-' + r, '        effect: ' + (r % 3 ? 'allow' : 'deny'), '        resource: /' + WORDS[rnd(26)] + '/' + rnd(900), '        description: "' + text(90).replace(/"/g, '') + '"', '        subjects: [' + [0, 1, 2].map(() => WORDS[rnd(26)]).join(', ') + ']');
  }
  return out.join('\n');
}
exports.loadPolicies = function loadPolicies() {
  const parsed = yaml.load(policyFile());
  return { parsed, allows: (word, id) => parsed.namespaces.some((n) => n.rules.some((r) => r.resource === '/' + word + '/' + id && r.effect === 'allow')) };
};
