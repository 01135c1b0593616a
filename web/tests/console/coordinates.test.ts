import { expect, test } from "vitest";
import { coordinateText, readCoordinates, readTowerList, splitCsvLine } from "../../src/shared/coordinates";

test("places are read as people paste them", () => {
  const forms = ["40.75, -73.98", "40.75 -73.98", "40.75:-73.98", "40.75° N, 73.98° W", "(40.75, -73.98)", "+40.75,-73.98"];
  forms.push("40.75, \u221273.98", "73.98 W, 40.75 N", "W 73.98 N 40.75", "40.75n 73.98w");
  for (const text of forms) expect(readCoordinates(text).spots, text).toEqual([[40.75, -73.98]]);
  expect(readCoordinates("40,-73; 41,-74\n\n 42 -75 ").spots).toEqual([
    [40, -73],
    [41, -74],
    [42, -75],
  ]);
});

test("degrees below one need no zero in front", () => {
  expect(readCoordinates(".5, -.25").spots).toEqual([[0.5, -0.25]]);
});

test("a place that could be another one is refused, not guessed", () => {
  const doubtful = ["40,75; -73,98", "40,75 -73,98", "40.75 N, 73.98", "-40.75 S, 73.98 W", "40 N, 41 S", "POINT(-73.98 40.75)", "40.75-73.98"];
  for (const text of doubtful) {
    const { spots, unread } = readCoordinates(text);
    expect(spots, text).toEqual([]);
    expect(unread, text).toHaveLength(1);
    expect(unread[0]?.why, text).toMatch(/^should/);
  }
});

test("what is no place is named with its line and what would be right", () => {
  const { spots, unread } = readCoordinates("40.75,-73.98\nBroadway\n-73.98,200\n95, 10");
  expect(spots).toHaveLength(1);
  expect(unread.map((one) => one.line)).toEqual([2, 3, 4]);
  expect(unread[0]?.why).toContain("such as 40.75, -73.98");
  expect(unread[1]?.why).toContain("longitude 200");
  expect(unread[2]?.why).toContain("is it the longitude?");
});

test("towers are read by the names of their columns, whatever stands between them", () => {
  expect(readTowerList("id,lon,lat\n7,-73.9,40.7\n8,-73.8,40.8\n").spots).toEqual([
    [40.7, -73.9],
    [40.8, -73.8],
  ]);
  expect(readTowerList("\uFEFFLatitude;Longitude\r\n40,7;-73,9\r\n").spots).toEqual([[40.7, -73.9]]);
  expect(readTowerList("lat,lon\n40.7,\u221273.9").spots).toEqual([[40.7, -73.9]]);
  expect(readTowerList("40.7\t-73.9\n40.8\t-73.8").spots).toHaveLength(2);
  expect(readTowerList('name,lat,lng\n"Main St, north",40.7,-73.9').spots).toEqual([[40.7, -73.9]]);
});

test("a tower that cannot be read does not spoil the others", () => {
  const { spots, unread } = readTowerList("lat,lon\n40.7,-73.9\n,\n95,1\n40.8,-73.8\n");
  expect(spots).toHaveLength(2);
  expect(unread.map((one) => one.line)).toEqual([3, 4]);
});

test("quoted cells keep their commas and quotes", () => {
  expect(splitCsvLine('a,"b, ""c""",d')).toEqual(["a", 'b, "c"', "d"]);
});

test("places are written with their directions", () => {
  expect(coordinateText([-33.8688, 151.2093])).toBe("33.8688° S, 151.2093° E");
});
