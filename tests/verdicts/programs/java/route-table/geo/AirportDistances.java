package geo;
class AirportDistances {
    private final int[][] km;
    AirportDistances(int n) { km = new int[n][]; for (int i = 0; i < n; i++) { km[i] = new int[n]; for (int j = 0; j < n; j++) km[i][j] = Math.abs(i - j) * 9 + 100; } }
    int km(int a, int b) { return km[a][b]; }
}
