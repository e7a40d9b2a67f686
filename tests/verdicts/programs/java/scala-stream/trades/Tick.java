package trades;
class Tick { final double price; final long at; final String venue; Tick(double p, long t, String v) { price = p; at = t; venue = v; } }
