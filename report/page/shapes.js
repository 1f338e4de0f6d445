// Outlines of ships, from above: forward is up the page (y), a unit is half of
// the ship's length. Each part is a closed line of [x, y, z]; half is mirrored.

const circle = (x, y, rx, ry = rx, z = 0, n = 22) =>
  Array.from({ length: n }, (_, i) => [x + rx * Math.sin((2 * Math.PI * i) / n), y + ry * Math.cos((2 * Math.PI * i) / n), z]);
const mirror = (part) => part.map(([x, y, z = 0]) => [-x, y, z]);
const whole = (half) => [...half, ...mirror(half).reverse()];
const both = (part) => [part, mirror(part)];
const block = (x, y, w, l, z = 0) => [[x - w, y + l, z], [x + w, y + l, z], [x + w, y - l, z], [x - w, y - l, z]];
const nacelle = (x, y, w, l, z) => whole([[0, l], [w * 0.75, l * 0.9], [w, l * 0.6], [w * 0.8, -l]]).map(([px, py]) => [px + x, py + y, z]);

const shapes = {
  // A large saucer, a slender body and two nacelles.
  galaxy: [circle(0, 0.36, 0.66, 0.56), whole([[0.13, -0.1], [0.17, -0.45], [0.08, -0.75]]), ...both(nacelle(0.44, -0.6, 0.085, 0.38, 0.1)), ...both([[0.12, -0.4], [0.38, -0.48, 0.1], [0.38, -0.58, 0.1], [0.12, -0.52]])],
  ambassador: [circle(0, 0.42, 0.5), whole([[0.1, 0], [0.14, -0.3], [0.09, -0.72]]), ...both(nacelle(0.36, -0.58, 0.075, 0.4, 0.14)), ...both([[0.1, -0.34], [0.3, -0.45, 0.14], [0.3, -0.54, 0.14], [0.1, -0.46]])],
  // A saucer like a spearhead, its nacelles far back.
  sovereign: [circle(0, 0.4, 0.38, 0.58), whole([[0.13, -0.1], [0.13, -0.4], [0.05, -0.62]]), ...both(nacelle(0.34, -0.62, 0.06, 0.38, 0.08)), ...both([[0.11, -0.2], [0.3, -0.4, 0.08], [0.3, -0.5, 0.08], [0.11, -0.38]])],
  // A wide saucer with two catamaran hulls.
  akira: [circle(0, 0.25, 0.66, 0.5), ...both(whole([[0.07, 0.2], [0.08, -0.6], [0.04, -0.7]]).map(([x, y]) => [x + 0.36, y, 0])), ...both(nacelle(0.4, -0.62, 0.085, 0.34, -0.08)), [[-0.36, -0.36], [0.36, -0.36], [0.36, -0.5], [-0.36, -0.5]]],
  // A saucer, nacelles below it, a pod above.
  nebula: [circle(0, 0.2, 0.64, 0.56), ...both(nacelle(0.42, -0.42, 0.09, 0.4, -0.16)), whole([[0.2, -0.36, 0.24], [0.26, -0.58, 0.24], [0.1, -0.74, 0.24]])],
  shuttle: [whole([[0.22, 0.7], [0.36, 0.2], [0.36, -0.6]]), ...both(nacelle(0.44, -0.2, 0.09, 0.5, -0.06))],
  // Wings bent down, a long neck and a head.
  birdofprey: [whole([[0.07, 0.9], [0.13, 0.74], [0.07, 0.56], [0.07, 0.14], [0.26, 0], [0.96, -0.12, -0.22], [0.9, -0.46, -0.22], [0.56, -0.28, -0.1], [0.2, -0.62]]), ...both([[0.9, 0.3, -0.24], [0.95, 0.3, -0.24], [0.96, -0.12, -0.22], [0.9, -0.12, -0.22]])],
  vorcha: [whole([[0.1, 0.95], [0.2, 0.8], [0.09, 0.55], [0.1, 0.1], [0.34, -0.1], [0.4, -0.56], [0.14, -0.74]]), ...both(nacelle(0.56, -0.42, 0.09, 0.34, -0.1)), ...both([[0.36, -0.24], [0.5, -0.3, -0.1], [0.5, -0.46, -0.1], [0.38, -0.42]])],
  // Two hulls one above the other, open between, a beak in front.
  warbird: [whole([[0.08, 0.92], [0.14, 0.7], [0.07, 0.5], [0.3, 0.28], [0.86, -0.2, -0.05], [0.86, -0.62, -0.05], [0.66, -0.34], [0.16, -0.46]]), whole([[0, -0.06, 0.1], [0.3, -0.16, 0.1], [0.1, -0.34, 0.1]]), ...both(nacelle(0.86, -0.44, 0.06, 0.34, -0.05))],
  // A ray: a broad head, narrow shoulders, a long tail.
  galor: [whole([[0.1, 0.9], [0.36, 0.66], [0.44, 0.46], [0.2, 0.34], [0.2, 0.12], [0.6, -0.02], [0.5, -0.2], [0.14, -0.26], [0.08, -0.9]])],
  keldon: [whole([[0.1, 0.9], [0.36, 0.66], [0.44, 0.46], [0.2, 0.34], [0.2, 0.12], [0.64, 0], [0.54, -0.24], [0.24, -0.3], [0.24, -0.6], [0.1, -0.92]]), whole([[0.14, 0.02, 0.16], [0.2, -0.3, 0.16], [0.1, -0.56, 0.16]])],
  // A horseshoe with a body in it.
  marauder: [[[0.72, 0.2], [0.62, 0.52], [0.36, 0.78], [0, 0.88], [-0.36, 0.78], [-0.62, 0.52], [-0.72, 0.2], [-0.62, -0.36], [-0.46, -0.36], [-0.46, 0.2], [-0.28, 0.46], [0, 0.54], [0.28, 0.46], [0.46, 0.2], [0.46, -0.36], [0.62, -0.36]], whole([[0.14, 0.5], [0.18, -0.3], [0.1, -0.84]])],
  // Crystals: a long one, and one with side arms.
  kessoklight: [whole([[0, 0.95], [0.16, 0.4], [0.24, -0.1], [0.5, -0.5], [0.2, -0.44], [0, -0.86]])],
  kessokheavy: [whole([[0, 0.95], [0.2, 0.5], [0.24, 0.1], [0.66, 0.3], [0.74, -0.1], [0.36, -0.36], [0.3, -0.8], [0, -0.66]]), whole([[0, 0.5, 0.1], [0.1, 0, 0.1], [0, -0.4, 0.1]])],
  // A cab and containers.
  freighter: [block(0, 0.7, 0.18, 0.18), block(0, 0.34, 0.36, 0.14), block(0, 0, 0.36, 0.14), block(0, -0.34, 0.36, 0.14), ...both(nacelle(0.3, -0.72, 0.09, 0.22, 0)), block(0, 0.18, 0.08, 0.02), block(0, -0.17, 0.08, 0.03), block(0, -0.6, 0.14, 0.12)],
  station: [circle(0, 0, 0.9, 0.9, 0, 28), circle(0, 0, 0.36, 0.36, 0, 18), block(0, 0.63, 0.05, 0.27), block(0, -0.63, 0.05, 0.27), block(0.63, 0, 0.27, 0.05), block(-0.63, 0, 0.27, 0.05)],
  rock: [[[0.1, 0.8], [0.6, 0.5], [0.8, 0], [0.5, -0.6], [0, -0.75], [-0.6, -0.55], [-0.75, 0.1], [-0.4, 0.6]]],
  cube: [block(0, 0, 0.75, 0.75), block(0, 0, 0.75, 0.75, 0.5), block(0, 0, 0.4, 0.4, 0.5)],
  dart: [whole([[0, 0.9], [0.5, -0.7], [0, -0.4]])],
};

const classes = {
  Galaxy: 'galaxy', Enterprise: 'sovereign', Sovereign: 'sovereign', Ambassador: 'ambassador', Akira: 'akira', Geronimo: 'akira', Nebula: 'nebula',
  Peregrine: 'nebula', Shuttle: 'shuttle', 'Escape Pod': 'shuttle', Probe: 'dart', Decoy: 'dart', 'Bird of Prey': 'birdofprey', "Vor'cha": 'vorcha', Warbird: 'warbird',
  Galor: 'galor', Amagon: 'galor', Keldon: 'keldon', CardHybrid: 'keldon', Marauder: 'marauder', KessokLight: 'kessoklight', KessokHeavy: 'kessokheavy',
  Sunbuster: 'station', KessokMine: 'rock', CardFreighter: 'freighter', Freighter: 'freighter', Transport: 'freighter', BorgCube: 'cube',
};

function shapeOf(ship) {
  if (Object.hasOwn(classes, ship)) return shapes[classes[ship]];
  if (/asteroid/i.test(ship)) return shapes.rock;
  if (/station|outpost|starbase|facility|array|dock/i.test(ship)) return shapes.station;
  return shapes.dart;
}

// Names of classes as people write them.
const readable = (ship) => ({ CardFreighter: 'Freighter', CardHybrid: 'Hybrid', KessokLight: 'Kessok light', KessokHeavy: 'Kessok heavy', BorgCube: 'Borg cube', FedStarbase: 'Starbase' })[ship] || ship || 'unknown ship';

const outlinePath = (ship) =>
  shapeOf(ship).map((part) => 'M' + part.map(([x, y]) => (x * 10).toFixed(1) + ' ' + (-y * 10).toFixed(1)).join('L') + 'Z').join('');
