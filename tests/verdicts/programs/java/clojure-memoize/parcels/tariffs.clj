(ns parcels.tariffs)
(def depots (into {} (for [i (range 4000)] [(keyword (str "depot-" i)) {:street (str "Harbor road " i) :phone (str "0300-" (* 7 i))}])))
(defn- price [{:keys [weight zone]}] {:net (* weight (+ zone 2)) :steps (vec (range (+ 3 (mod weight 5))))})
(def zone-rate (memoize price))
(defn run [n]
  (dotimes [i n]
    (zone-rate {:weight (mod i 31) :zone (mod i 7) :asked-at (+ 1700000000000 i) :ref (str "parcel-" i)})))
